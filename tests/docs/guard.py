"""What every guard of docs/fencing.md has to do, whatever it is written in."""
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "fencing.md"
HOME, ELSEWHERE = f"{7:016x}", f"{8:016x}"


def blocks(language):
    """The code of that language on the page, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.S | re.M)


def token(epoch, counter, sub=0):
    """As pawl::Token::to_string() writes it."""
    return f"{epoch:012x}{counter:016x}{sub:04x}"


class Guard:
    """One guarded value. A scene starts with a fresh one: 100, never marked."""

    def mark(self, by, store=HOME):
        """Was the mark raised to this token, or was it there already?"""
        raise NotImplementedError

    def read(self):
        raise NotImplementedError

    def write(self, value, by, store=HOME):
        """Was it written?"""
        raise NotImplementedError

    def write_without_a_mark(self, value, by):
        """What this page does not recommend: the write itself compares and raises the mark."""
        raise NotImplementedError


def an_update_is_lost_without_a_mark(guard):
    alice, bob = token(7, 33), token(7, 34)
    alice_read = guard.read()  # then she is paused, and bob gets the lock
    bob_read = guard.read()
    assert guard.write_without_a_mark(alice_read + 7, alice), "bob has not written yet: nothing refuses her"
    assert guard.write_without_a_mark(bob_read + 1, bob)
    assert guard.read() == 101, "100, +7, +1: she was told that it was written, and it is lost"


def no_update_is_lost_with_a_mark(guard):
    alice, bob = token(7, 33), token(7, 34)
    assert guard.mark(alice)
    alice_read = guard.read()
    assert guard.mark(bob), "right after the grant, before he reads"
    bob_read = guard.read()
    assert not guard.write(alice_read + 7, alice), "refused, although bob has not written yet"
    assert guard.write(bob_read + 1, bob)
    assert guard.mark(token(7, 35)), "she takes the lock again and begins from the reading"
    assert guard.write(guard.read() + 7, token(7, 35))
    assert guard.read() == 108


def tokens_are_compared_as_a_whole(guard):
    bob = token(7, 34)
    assert guard.mark(bob) and guard.mark(bob), "a mark may be repeated"
    assert guard.write(1, bob) and guard.write(1, bob), "one holder writes more than once, also the same value"
    assert not guard.mark(token(7, 33))
    assert guard.mark(token(7, 34, 1)), "a hand-off inside a client is a later holder"
    assert not guard.write(2, bob), "and overtakes the one before"
    assert guard.mark(token(7, 0x100)), "digits do not change the order"
    assert not guard.mark(token(7, 0xff))
    assert guard.mark(token(8, 1)), "a new epoch is larger than any count"
    assert not guard.mark(token(7, 2**64 - 1))
    assert not guard.write(3, token(9, 1)), "a write without a mark is refused"
    assert guard.read() == 1


def another_store_is_refused(guard):
    assert guard.mark(token(7, 1))
    assert not guard.mark(token(9, 1), ELSEWHERE), "a later epoch, and nothing to compare it with"
    assert not guard.write(2, token(9, 1), ELSEWHERE)
    assert not guard.write(2, token(7, 1), ELSEWHERE)
    assert guard.write(3, token(7, 1)) and guard.read() == 3


SCENES = [
    an_update_is_lost_without_a_mark,
    no_update_is_lost_with_a_mark,
    tokens_are_compared_as_a_whole,
    another_store_is_refused,
]


def play(fresh):
    """Plays every scene with a guard that `fresh()` makes."""
    for scene in SCENES:
        scene(fresh())
