#!/usr/bin/env python3
"""The MySQL store beside its floors and beside locks that poll, in one run and in turns: see bench/README.md."""

from harness.cases import measure_hand_over, measure_threads, measure_waiters, play_pairs
from harness.figures import row
from harness.run import Subject, main
from harness.servers import MysqlServer

# The floor of each scheme: rows, or GET_LOCK with a token.
FLOORS = {"queue": "pair", "unique": "pair", "version": "pair", "for-update": "pair", "named": "token"}
GOALS = {"queue": 1.5, "named": 1.5}


def measure_pairs(bench):
    cast = bench.cast
    participants = [*cast.pawl.values(), cast.floor["pair"], cast.floor["token"], cast.floor["named"]]
    median, p99 = play_pairs(bench, participants, turn=0.1)
    rows = []
    for scheme, floor in FLOORS.items():
        name, floor = f"pawl {scheme}", f"floor {floor}"
        rows.append(row(bench, f"acquire and release, {scheme}", median, name, floor, goal=GOALS.get(scheme), peers=False))
        rows.append(row(bench, f"the same, p99, {scheme}", p99, name, floor, compared=False))
    rows.append(row(bench, "GET_LOCK raw, beside INSERT and DELETE", median, "floor named", "floor pair", peers=False))
    return rows


class Mysql(Subject):
    store, title, description = "mysql", "MySQL", __doc__
    server = MysqlServer
    schemes = ("queue", "unique", "version", "named", "for-update")
    options = "?lease=10m"  # a client that is not measured for a lease ends its session
    floors = ("pair", "named", "token")
    queue_floor = "named"
    pair_floor = "pair"
    polling = ("poll-100", "poll-1")
    turns = {"hand-over": 0.5, "waiters": {10: 0.5, 100: 1, 1000: 4}, "threads": 0.3}
    pair_goal = 2.0
    growth_goal = 1.5
    cases = {"pairs": measure_pairs, "hand-over": measure_hand_over, "waiters": measure_waiters, "threads": measure_threads}
    shares = {"pairs": 0.25, "hand-over": 0.2, "waiters": 0.45, "threads": 0.1}
    cores = {"pairs": "apart"}

    @staticmethod
    def add_arguments(parser):
        parser.add_argument("--no-fsync", action="store_true", help="the server does not wait for the disk")


if __name__ == "__main__":
    main(Mysql)
