#!/usr/bin/env python3
"""The Redlock store on five Redis servers beside its floor and beside other people's Redlocks, in one run and in turns: see
bench/README.md."""

import signal

from harness.bench import slug
from harness.cases import PROCESSES, play_pairs
from harness.cast import make_go, make_npm, make_redisson
from harness.contention import Contention, contend
from harness.figures import plain_row, row
from harness.run import Subject, main
from harness.servers import RedisNodes

PAWL, FLOOR = "pawl majority", "floor set"
WAITERS = 100
NODE_TIMEOUT = 500e6  # nanoseconds; pawl's default
A_MINORITY = (1, 3)


def measure_pairs(bench):
    median, p99 = play_pairs(bench, [bench.cast.queue, bench.cast.queue_floor, *bench.cast.peers], turn=0.1)
    return [
        row(bench, "acquire and release", median, PAWL, FLOOR, goal=2.0),
        row(bench, "the same, p99", p99, PAWL, FLOOR, compared=False),
    ]


def without_two(bench, case, name, number):
    """Two nodes do not answer any more, once all are connected. Long turns: some need seconds for a pair, and few are enough."""
    participants = [bench.cast.queue, bench.cast.queue_floor, *bench.cast.peers]
    harm = lambda: bench.server.signal(A_MINORITY, number)
    median, p99 = play_pairs(bench, participants, turn=1, case=case, harm=harm)
    slowest = row(bench, "the same, p99, beside the node timeout", p99, PAWL, FLOOR, compared=False)
    slowest["goal"], slowest["met"] = "500 ms", max(p99.values[PAWL]) <= NODE_TIMEOUT
    return [row(bench, f"acquire and release, {name}", median, PAWL, FLOOR), slowest]


def measure_hanging(bench):
    rows = without_two(bench, "hanging", "two of five nodes hang", signal.SIGSTOP)
    bench.server.signal(A_MINORITY, signal.SIGCONT)
    return rows


def measure_dead(bench):
    return without_two(bench, "dead", "two of five nodes are dead", signal.SIGKILL)


def measure_waiters(bench):
    length = bench.subject.turns["waiters"]
    pawl, pair = bench.cast.queue, bench.cast.queue_floor
    participants = [pawl, pair, *bench.cast.peers]
    fleets = bench.fleets("waiters", participants, PROCESSES, -(-WAITERS // PROCESSES))
    outcome = Contention()

    def play(fleet, number):
        if fleet.who is pair:  # nobody waits for it
            outcome.cost.add(pair.name, int(fleet.members[0].ask("pairs waiters-pair 100").split()[1]))
            return
        if number == 0:
            contend(fleet, f"warm-up-{slug(fleet.who)}", WAITERS, length)
        waiters, start, end = contend(fleet, f"waiters-{slug(fleet.who)}-{number}", WAITERS, length)
        outcome.add(fleet.who, waiters, start, end, length)

    bench.play("waiters", fleets, bench.rounds("waiters", length, participants, least=2), play)
    names = [who.name for who in participants]
    return [
        outcome.describe(row(bench, f"hand-over, {WAITERS} waiters", outcome.cost, PAWL, FLOOR), names),
        plain_row(bench, f"longest wait beside the median, {WAITERS} waiters", outcome.unfair),
    ]


class Redlock(Subject):
    store, title, description = "redlock", "Redis", __doc__
    server = RedisNodes
    schemes = ("majority",)
    floors = ("set",)
    queue_floor = "set"
    peers = {
        "redsync": make_go("redsync", "github.com/go-redsync/redsync/v4", polls=True),
        "npm-redlock": make_npm("npm-redlock", "redlock"),
        "npm-redlock-5": make_npm("npm-redlock-5", "redlock-5"),
        "redisson": make_redisson("RedissonRedLockPeer", polls=True),
    }
    turns = {"waiters": 2}
    # The last one kills two servers.
    cases = {"pairs": measure_pairs, "waiters": measure_waiters, "hanging": measure_hanging, "dead": measure_dead}
    shares = {"pairs": 0.3, "waiters": 0.4, "hanging": 0.15, "dead": 0.15}
    cores = {"pairs": "apart"}


if __name__ == "__main__":
    main(Redlock)
