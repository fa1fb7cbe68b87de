#!/usr/bin/env python3
"""The ZooKeeper store beside its floor and beside other people's locks, in one run and in turns: see bench/README.md."""

from harness.cases import measure_hand_over, measure_threads, measure_waiters, play_pairs
from harness.cast import make_curator, make_go
from harness.figures import row
from harness.run import Subject, main
from harness.servers import ZooKeeperServer


def measure_pairs(bench):
    cast = bench.cast
    participants = [cast.pawl["sequential"], cast.floor["pair"], cast.pawl["ephemeral"]]
    median, p99 = play_pairs(bench, participants + cast.peers, turn=0.1)
    rows = []
    for who in cast.pawl.values():
        rows.append(row(bench, f"acquire and release, {who.scheme}", median, who.name, "floor pair", goal=1.25))
        rows.append(row(bench, f"the same, p99, {who.scheme}", p99, who.name, "floor pair", compared=False))
    return rows


class ZooKeeper(Subject):
    store, title, description = "zookeeper", "ZooKeeper", __doc__
    server = ZooKeeperServer
    schemes = ("sequential", "ephemeral")
    options = "?lease=10m"  # a client that is not measured for a lease ends its session
    floors = ("pair", "queue", "asking")
    queue_floor = "queue"
    more_floors = ("asking",)
    pair_floor = "pair"
    peers = {
        "curator": make_curator,
        "go-zookeeper": make_go("go-zookeeper", "github.com/go-zookeeper/zk", polls=False),
    }
    turns = {"hand-over": 0.5, "waiters": {10: 0.5, 100: 1, 1000: 4}, "threads": 0.3}
    pair_goal = 1.2
    cases = {"pairs": measure_pairs, "hand-over": measure_hand_over, "waiters": measure_waiters, "threads": measure_threads}
    shares = {"pairs": 0.2, "hand-over": 0.15, "waiters": 0.55, "threads": 0.1}
    cores = {"pairs": "apart"}

    @staticmethod
    def add_arguments(parser):
        parser.add_argument("--no-fsync", action="store_true", help="the server does not wait for the disk")


if __name__ == "__main__":
    main(ZooKeeper)
