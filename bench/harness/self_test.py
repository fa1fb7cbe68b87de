"""The arithmetic of the benchmark, on made-up times."""

import unittest

from harness.contention import hand_overs, waits
from harness.figures import Turns
from harness.processes import Failure
from harness.record import messages


class Anybody:
    name = "anybody"


def events(process, *times):
    return [(process, *each) for each in times]


class HandOvers(unittest.TestCase):
    def test_count_from_release_to_the_waiter_in_another_process(self):
        alice = events(0, (0, 1, 100), (110, 140, 150))
        bob = events(1, (10, 107, 130))
        samples, taken, changes, rest = hand_overs(Anybody, [alice, bob], 0, 1000)
        self.assertEqual((samples, taken, changes, rest), ([7, 10], 3, 2, 0))

    def test_within_a_process_do_not_count(self):
        samples, _, changes, _ = hand_overs(Anybody, [events(0, (0, 1, 100)), events(0, (10, 107, 130))], 0, 1000)
        self.assertEqual((samples, changes), ([], 0))

    def test_go_on_while_somebody_who_came_later_is_faster(self):
        alice = events(0, (0, 1, 100), (101, 102, 200), (201, 202, 300))
        bob = events(1, (10, 350, 400))
        self.assertEqual(hand_overs(Anybody, [alice, bob], 0, 1000)[0], [250])

    def test_do_not_begin_where_nobody_waits(self):
        alice = events(0, (0, 1, 100), (150, 160, 300))
        bob = events(1, (200, 305, 400))
        self.assertEqual(hand_overs(Anybody, [alice, bob], 0, 1000)[0], [5])

    def test_that_never_come_are_told_as_a_rest(self):
        alice = events(0, (0, 1, 100), (101, 102, 200), (201, 202, 300))
        bob = events(1, (10, 0, 0))
        self.assertEqual(hand_overs(Anybody, [alice, bob], 0, 1000)[::3], ([], 900))

    def test_of_a_lock_that_nobody_gets_are_told_as_a_rest(self):
        alice, bob = events(0, (0, 0, 0)), events(1, (10, 0, 0))
        self.assertEqual(hand_overs(Anybody, [alice, bob], 200, 1000), ([], 0, 0, 800))

    def test_before_the_start_do_not_count(self):
        self.assertEqual(hand_overs(Anybody, [events(0, (0, 1, 100)), events(1, (10, 107, 130))], 101, 1000)[0], [])

    def test_that_overlap_are_refused(self):
        with self.assertRaises(Failure):
            hand_overs(Anybody, [events(0, (0, 1, 100)), events(1, (10, 99, 130))], 0, 1000)


class Waits(unittest.TestCase):
    def test_leave_out_the_first_one_unless_it_never_ended(self):
        alice = events(0, (0, 50, 60), (60, 90, 100))
        bob = events(1, (10, 0, 0))
        self.assertEqual(waits([alice, bob], 1000), ([30], [990]))


class Ratios(unittest.TestCase):
    def test_are_those_of_single_rounds(self):
        turns = Turns()
        for pawl, floor in ((10, 5), (1000, 500), (30, 10)):
            turns.add("pawl", pawl)
            turns.add("floor", floor)
        self.assertEqual(turns.ratio("pawl", "floor"), 2)
        self.assertIsNone(turns.ratio("pawl", "nobody"))


class Messages(unittest.TestCase):
    def test_are_cut_where_they_end(self):
        whole = [b"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n", b":1\r\n", b"$-1\r\n", b"*2\r\n*1\r\n+OK\r\n$0\r\n\r\n", b"*-1\r\n"]
        self.assertEqual(messages(bytearray(b"".join(whole))), whole)
