#!/usr/bin/env python3
"""The etcd store beside its floor and beside Go's client, in one run and in turns: see bench/README.md."""

from harness.cases import measure_hand_over, measure_short_holds, measure_threads, measure_waiters, play_pairs
from harness.cast import make_go
from harness.figures import row
from harness.run import Subject, main
from harness.servers import EtcdServer


def measure_pairs(bench):
    cast = bench.cast
    median, p99 = play_pairs(bench, [cast.pawl["queue"], cast.floor["pair"], *cast.peers], turn=0.1)
    return [
        row(bench, "acquire and release, queue", median, "pawl queue", "floor pair", goal=1.3),
        row(bench, "the same, p99, queue", p99, "pawl queue", "floor pair", compared=False),
    ]


class Etcd(Subject):
    store, title, description = "etcd", "etcd", __doc__
    server = EtcdServer
    schemes = ("queue",)
    options = "?lease=10m"  # a client that is not measured for a lease ends its session
    floors = ("pair", "queue")
    queue_floor = "queue"
    pair_floor = "pair"
    peers = {"go-etcd": make_go("go-etcd", "go.etcd.io/etcd/client/v3", polls=False)}
    turns = {"hand-over": 0.5, "short-holds": 1, "waiters": {2: 0.5, 16: 0.5, 100: 1, 1000: 4}, "threads": 0.3}
    pair_goal = 2.5
    short_hold_goal = 15  # times faster than Go's client, which is told of each change by the server's tick of 100 ms
    cases = {
        "pairs": measure_pairs,
        "hand-over": measure_hand_over,
        "short-holds": measure_short_holds,
        "waiters": measure_waiters,
        "threads": measure_threads,
    }
    shares = {"pairs": 0.2, "hand-over": 0.1, "short-holds": 0.1, "waiters": 0.5, "threads": 0.1}
    cores = {"pairs": "apart"}

    @staticmethod
    def add_arguments(parser):
        parser.add_argument("--no-fsync", action="store_true", help="the server does not wait for the disk")


if __name__ == "__main__":
    main(Etcd)
