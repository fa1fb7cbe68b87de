#!/usr/bin/env python3
"""The Redis store beside its floor and beside other people's locks, in one run and in turns: see bench/README.md."""

from harness.cases import measure_hand_over, measure_threads, measure_waiters, play_pairs
from harness.cast import Who, make_go, make_redis_py, make_redisson
from harness.figures import row
from harness.processes import Fleet
from harness.record import Recorder, record_pair
from harness.run import Subject, main
from harness.servers import RedisServer


def make_replay(bench, scheme, program):
    """The floor of a scheme: what pawl says, without pawl. Also the client that was listened to, and whose session it is."""
    recorder = Recorder(bench.server)
    who = bench.cast.pawl[scheme]
    fleet = Fleet(bench.children, who, 1, bench.log)
    fleet.members[0].ask(f"open {recorder.url} {scheme} 1")
    file = bench.folder / f"{scheme}.replay"
    record_pair(recorder, fleet.members[0], f"floor-{scheme}", file)
    return Who(f"floor {scheme}", program, f"replay:{file}"), fleet


def measure_pairs(bench):
    cast = bench.cast
    replays = [make_replay(bench, scheme, cast.floor["set"].command) for scheme in ("queue", "simple")]
    participants = [cast.pawl["queue"], replays[0][0], cast.pawl["simple"], replays[1][0], cast.floor["set"]]
    median, p99 = play_pairs(bench, participants + cast.peers, turn=0.02)
    for _, listened_to in replays:
        listened_to.stop()
    rows = []
    for scheme in ("queue", "simple"):
        floor = f"floor {scheme}"
        rows.append(row(bench, f"acquire and release, {scheme}", median, f"pawl {scheme}", floor, goal=1.25))
        rows.append(row(bench, f"the same, p99, {scheme}", p99, f"pawl {scheme}", floor, compared=False))
    for scheme in ("queue", "simple"):
        name = f"the two requests of {scheme} raw, beside SET NX"
        rows.append(row(bench, name, median, f"floor {scheme}", "floor set", peers=False))
    return rows


class Redis(Subject):
    store, title, description = "redis", "Redis", __doc__
    server = RedisServer
    schemes = ("queue", "simple")
    floors = ("set", "list")
    queue_floor = "list"
    peers = {
        "redis-py": make_redis_py,
        "redsync": make_go("redsync", "github.com/go-redsync/redsync/v4", polls=True),
        "redislock": make_go("redislock", "github.com/bsm/redislock", polls=True),
        "redisson": make_redisson(),
    }
    turns = {"hand-over": 0.3, "waiters": {10: 0.4, 1000: 1.6}, "threads": 0.2}
    hand_over_goal = 1.5
    cases = {"pairs": measure_pairs, "hand-over": measure_hand_over, "waiters": measure_waiters, "threads": measure_threads}
    shares = {"pairs": 0.3, "hand-over": 0.2, "waiters": 0.35, "threads": 0.15}
    cores = {"pairs": "apart"}


if __name__ == "__main__":
    main(Redis)
