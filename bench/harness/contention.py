"""Several processes that want the same lock: how it passes from one to the other."""

import bisect
import random
import statistics
import time

from harness.figures import Turns
from harness.processes import Failure

RAMP = 0.2  # of a turn with many waiters, until all have come


def contend(fleet, name, clients, length, hold=0):
    """Events per client: (process, asked, since, released), all in nanoseconds; since is 0 for one that gave up. Also when
    all have come, and the end."""
    members = len(fleet.members)
    fleet.members[0].ask(f"prepare {name}")
    start = time.monotonic_ns() + (50 + clients // 2) * 1_000_000  # threads and connections are made before
    end = start + int(length * 1e9)
    shares = [clients // members + (1 if index < clients % members else 0) for index in range(members)]
    answers = fleet.ask_all([f"contend {name} {share} {hold} {start} {end}" for share in shares])
    waiters = []
    for process, answer in enumerate(answers):
        for client in answer.split("|"):
            events = [(process, *map(int, event.split(","))) for event in client.split()]
            if events:
                waiters.append(events)
    return waiters, start + int(length * 1e9 * RAMP), end


def hand_overs(who, waiters, start, end):
    """Nanoseconds from a release to the return of the acquire of somebody who was waiting then, where that is in another
    process. Whoever came later and was faster has not ended that wait. Also: how often the lock was taken, how many of these
    times in another process than before, and how long a wait like that has lasted at the end.
    What was let go before `start` does not count: while everybody comes, everybody is awake."""
    taken = sorted((event for events in waiters for event in events if event[2]), key=lambda event: event[2])
    asked = sorted(event[1] for events in waiters for event in events)
    ended = sorted(event[2] or end for events in waiters for event in events)

    def somebody_waits(at):
        return bisect.bisect_left(asked, at) > bisect.bisect_right(ended, at)

    samples, changes = [], 0
    let_go = by = None  # when, and in which process: the release that a waiter has not followed yet
    for before, event in zip([None] + taken, taken):
        process, begun, since, released = event
        if before and since < before[3]:
            raise Failure(f"{who.name}: two had the lock at the same time")
        changes += before is not None and process != before[0]
        followed = let_go is None or begun < let_go
        if let_go is not None and start <= let_go and followed and process != by and since <= end:
            samples.append(since - let_go)
        if followed or not somebody_waits(let_go):
            let_go, by = released, process
    rest = end - max(start, let_go) if let_go is not None and let_go < end and somebody_waits(let_go) else 0
    if not taken and asked:
        rest = end - start
    return samples, len(taken), changes, rest


def waits(waiters, end):
    """How long everybody waited, without each one's first wait, when all came at once. One that was still waiting at the end
    has waited at least so long."""
    done = [since - asked for events in waiters for _, asked, since, _ in events[1:] if since]
    unfinished = [end - asked for events in waiters for _, asked, since, _ in events if not since]
    return done, unfinished


class Contention:
    """What is told of contended turns."""

    def __init__(self):
        self.cost, self.taken, self.changes, self.unfair = Turns(), Turns(), Turns(), Turns()
        self.at_least = set()  # those whose cost is a lower bound: nothing was handed over in a turn

    def add(self, who, waiters, start, end, length):
        samples, taken, changes, rest = hand_overs(who, waiters, start, end)
        if not samples:
            self.at_least.add(who.name)
        if not samples or rest > statistics.median(samples):
            samples.append(rest)
        self.cost.add(who.name, statistics.median(samples))
        self.taken.add(who.name, taken / length)
        self.changes.add(who.name, changes / taken if taken else 0)
        done, unfinished = waits(waiters, end)
        middle = statistics.median(done) if done else None
        self.unfair.add(who.name, max(done + unfinished) / middle if middle else None)

    def describe(self, one, names):
        one["acquisitions_per_second"] = {name: self.taken.median(name) for name in names}
        one["changes_of_process"] = {name: self.changes.median(name) for name in names}
        one["at_least"] = sorted(self.at_least)
        return one


def pass_on(fleet, name, length):
    """Two processes: the one that has it lets go, and asks again when the other one has it. The nanoseconds of each."""
    has, waits = fleet.members
    has.ask(f"prepare {name}")
    has.ask(f"take {name}")
    samples = []
    end = time.monotonic() + length
    while not samples or time.monotonic() < end:
        waits.send(f"take {name}")
        time.sleep(0.003 + (random.uniform(0, 0.1) if fleet.who.polls else 0))
        released = int(has.ask(f"give {name}"))
        samples.append(int(waits.answer()) - released)
        has, waits = waits, has
    has.ask(f"give {name}")
    return samples
