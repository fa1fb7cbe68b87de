#!/usr/bin/env python3
"""The Redis store beside its floor and beside other people's locks, in one run and in turns: see bench/README.md."""

import argparse
import os
import random
import re
import resource
import signal
import statistics
import sys
import tempfile
import unittest
from pathlib import Path

from harness import self_test
from harness.cast import PEERS, SOURCES, Cast, Who
from harness.contention import Contention, contend, pass_on
from harness.figures import Turns, plain_row, print_json, print_missing, print_table, row
from harness.processes import Children, Failure, Fleet, Server
from harness.record import Recorder, record_pair

PROCESSES = 8  # over which waiters are spread
MANY, FEW = 1000, 10  # waiters
THREADS = 8


class Bench:
    def __init__(self, children, server, cast, seconds, folder, log, tell):
        self.children, self.server, self.cast = children, server, cast
        self.seconds, self.folder, self.log, self.tell = seconds, Path(folder), log, tell
        self.broken = {}  # participants that failed, and how

    def rounds(self, case, turn, participants, least=3):
        """So many that the case's part of the time is used."""
        return max(least, round(self.seconds * SHARES[case] / (turn * len(participants))))

    def each(self, case, fleets, step):
        """Lets each fleet do something. A peer that fails takes no further part, and is named. Answers who is left."""
        left = []
        for fleet in fleets:
            try:
                step(fleet)
                left.append(fleet)
            except Failure as error:
                if fleet.who not in self.cast.peers:
                    raise
                self.broken[f"{fleet.who.name}, {case}"] = str(error)
                fleet.stop()
        return left

    def fleets(self, case, participants, processes, clients):
        """Started, connected and warm."""

        def open_all(fleet):
            fleet.ask_all([f"open {self.server.url} {fleet.who.scheme} {clients}"] * processes)
            self.warm_up(fleet)

        return self.each(case, [Fleet(self.children, who, processes, self.log) for who in participants], open_all)

    def play(self, case, fleets, rounds, turn):
        """Turns in a new order every round."""
        for number in range(rounds):
            self.tell(f"{case}: round {number + 1} of {rounds}")
            fleets = self.each(case, in_some_order(fleets), lambda fleet: turn(fleet, number))
        for fleet in fleets:
            fleet.stop()

    def warm_up(self, fleet):
        """Some are compiled while they run. All processes of a fleet at the same time, each with a lock of its own."""
        self.tell(f"warming up {fleet.who.name}")
        if fleet.who is self.cast.floor["list"]:
            return
        length = int(1000 * fleet.who.warm_up * max(1, len(fleet.members) / 2))
        names = [f"warm-up-{slug(fleet.who)}-{index}" for index in range(len(fleet.members))]
        fleet.ask_all([f"pairs {name} {length}" for name in names])


def in_some_order(fleets):
    """Another one every time, but neighbours stay neighbours: pawl and its floor meet the same weather."""
    begin = random.randrange(len(fleets))
    turned = fleets[begin:] + fleets[:begin]
    return turned[::-1] if random.random() < 0.5 else turned


def slug(who):
    return who.name.replace(" ", "-")


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
    turn = 0.02
    cast = bench.cast
    replays = [make_replay(bench, scheme, cast.floor["set"].command) for scheme in ("queue", "simple")]
    participants = [cast.pawl["queue"], replays[0][0], cast.pawl["simple"], replays[1][0], cast.floor["set"]]
    participants += cast.peers
    fleets = bench.fleets("pairs", participants, 1, 1)
    median, p99 = Turns(), Turns()

    def play(fleet, number):
        words = fleet.members[0].ask(f"pairs pairs-{slug(fleet.who)} {int(turn * 1000)}").split()
        median.add(fleet.who.name, int(words[1]))
        p99.add(fleet.who.name, int(words[2]))

    bench.play("pairs", fleets, bench.rounds("pairs", turn, participants), play)
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


def measure_threads(bench):
    turn = 0.2
    cast = bench.cast
    participants = [cast.pawl["queue"], cast.floor["list"], cast.pawl["simple"]] + cast.peers
    fleets = bench.fleets("threads", participants, 1, 1)
    cost = Turns()

    def threads(fleet, name, length):
        fleet.members[0].ask(f"prepare {name}")
        return map(int, fleet.members[0].ask(f"threads {name} {THREADS} {int(length * 1000)}").split())

    def play(fleet, number):
        if number == 0:
            threads(fleet, f"warm-up-{slug(fleet.who)}", 2 * fleet.who.warm_up)
        count, elapsed = threads(fleet, f"threads-{slug(fleet.who)}-{number}", turn)
        cost.add(fleet.who.name, elapsed / count if count else None)

    bench.play("threads", fleets, bench.rounds("threads", turn, participants), play)
    rows = []
    for scheme in ("queue", "simple"):
        one = row(bench, f"{THREADS} threads of one process, {scheme}", cost, f"pawl {scheme}", "floor list")
        ratios = [peer["to_pawl"] for peer in one["peers"].values() if peer["to_pawl"] is not None]
        if ratios:
            one["to_best_peer"] = best = min(ratios)
            one["goal"], one["met"] = 10, best >= 10
        rows.append(one)
    return rows


def measure_hand_over(bench):
    turn = 0.3
    cast = bench.cast
    participants = [cast.pawl["queue"], cast.floor["list"], cast.pawl["simple"]] + cast.peers
    fleets = bench.fleets("hand-over", participants, 2, 1)
    cost = Turns()

    def play(fleet, number):
        if number == 0:
            pass_on(fleet, f"warm-up-{slug(fleet.who)}", 2 * fleet.who.warm_up)
        cost.add(fleet.who.name, statistics.median(pass_on(fleet, f"hand-over-{slug(fleet.who)}-{number}", turn)))

    bench.play("hand-over", fleets, bench.rounds("hand-over", turn, participants), play)
    rows = []
    for scheme, goal in (("queue", 1.5), ("simple", None)):
        name = f"hand-over to a waiting process, {scheme}"
        rows.append(row(bench, name, cost, f"pawl {scheme}", "floor list", goal=goal))
    return rows


def measure_waiters(bench):
    turns = {FEW: 0.4, MANY: 1.6}
    cast = bench.cast
    participants = [cast.pawl["queue"], cast.floor["list"]] + cast.peers
    fleets = bench.fleets("waiters", participants, PROCESSES, -(-MANY // PROCESSES))
    outcomes = {count: Contention() for count in turns}

    def play(fleet, number):
        if number == 0:
            contend(fleet, f"warm-up-{slug(fleet.who)}", FEW, 2 * fleet.who.warm_up)
        for count, length in turns.items():
            waiters, start, end = contend(fleet, f"waiters-{slug(fleet.who)}-{count}-{number}", count, length)
            outcomes[count].add(fleet.who, waiters, start, end, length)

    bench.play("waiters", fleets, bench.rounds("waiters", sum(turns.values()), participants, least=2), play)
    names = [who.name for who in participants]
    rows = []
    for count, outcome in outcomes.items():
        one = row(bench, f"hand-over, {count:,} waiters", outcome.cost, "pawl queue", "floor list")
        rows.append(outcome.describe(one, names))
    growth = Turns()
    for name in names:
        for few, many in zip(outcomes[FEW].cost.values.get(name, []), outcomes[MANY].cost.values.get(name, [])):
            growth.add(name, many / few if few and many else None)
    rows.append(plain_row(bench, f"{MANY:,} waiters beside {FEW}", growth, 1.3))
    rows.append(plain_row(bench, f"longest wait beside the median, {MANY:,} waiters", outcomes[MANY].unfair, 2.0))
    return rows


SHARES = {"pairs": 0.3, "threads": 0.15, "hand-over": 0.2, "waiters": 0.35}
CORES = {"pairs": "apart"}
CASES = {"pairs": measure_pairs, "hand-over": measure_hand_over, "waiters": measure_waiters, "threads": measure_threads}


def seconds(text):
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m)?", text)
    if not found:
        raise argparse.ArgumentTypeError(f"not a duration: {text}")
    return float(found.group(1)) * {"ms": 0.001, "s": 1, "m": 60, None: 1}[found.group(2)]


def peer_names(text):
    names = [] if text == "none" else list(PEERS) if text == "all" else text.split(",")
    for name in names:
        if name not in PEERS:
            raise argparse.ArgumentTypeError(f"no such peer: {name}; there are {', '.join(PEERS)}")
    return names


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", type=seconds, default=60, help="how long, without setting up; default 60s")
    parser.add_argument("--only", choices=CASES, action="append", help="this case only; may be repeated")
    parser.add_argument("--peers", type=peer_names, default=list(PEERS), help="all (default), none, or redis-py,redsync")
    parser.add_argument("--build", type=Path, default=SOURCES.parent / "build", help="where pawl was built")
    parser.add_argument("--cache", type=Path, help="where peers are built; default bench/peers in the build folder")
    parser.add_argument("--cores", choices=("apart", "same", "any"),
                        help="the server has a core for itself (default for pairs), all share one, or the kernel decides")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--self-test", action="store_true", help="check the arithmetic, and measure nothing")
    return parser.parse_args()


def allow_many_files():
    """For a thousand clients, and the server's side of them."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def tell(what):
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)


def measure(arguments, children, folder):
    cast = Cast(arguments.build, arguments.peers, arguments.cache or arguments.build / "bench/peers", tell)
    cases = arguments.only or list(CASES)
    part = sum(SHARES[case] for case in cases)
    rows = []
    with open(os.path.join(folder, "participants.log"), "wb") as log:
        bench = Bench(children, Server(children, folder), cast, arguments.time / part, folder, log, tell)
        for case in cases:
            children.place(arguments.cores or CORES.get(case, "any"))
            bench.server.place(children.server_cores)
            rows += CASES[case](bench)
    tell("")
    where = {case: arguments.cores or CORES.get(case, "any") for case in cases}
    if arguments.json:
        print_json(rows, bench, where)
    else:
        print_table(rows, cast, where)
        print_missing(bench)


def main():
    arguments = parse_arguments()
    if arguments.self_test:
        unittest.main(module=self_test, argv=sys.argv[:1])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    allow_many_files()
    children = Children()
    with tempfile.TemporaryDirectory(prefix="pawl-bench-") as folder:
        try:
            measure(arguments, children, folder)
        except Failure as error:
            sys.exit(f"\nredis_bench: {error}")
        except KeyboardInterrupt:
            sys.exit(130)
        finally:
            children.stop_all()


if __name__ == "__main__":
    main()
