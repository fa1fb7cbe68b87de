"""From the command line to the table."""

import argparse
import os
import re
import resource
import signal
import sys
import tempfile
import unittest
from pathlib import Path

from harness import self_test
from harness.bench import Bench
from harness.cast import SOURCES, Cast
from harness.figures import print_json, print_missing, print_table
from harness.processes import Children, Failure


class Subject:
    """What differs from store to store."""

    store = title = description = ""
    server = None
    schemes = ()  # of pawl; the first one is the one with a queue
    options = ""  # behind the URL, for pawl
    floors = ()
    queue_floor = ""  # of a lock that changes hands; the lowest one
    more_floors = ()  # of the same
    peers = {}
    polling = ()  # schemes of the floor's program that are measured as peers
    turns = {}  # seconds; of "waiters": for each number of them
    hand_over_goal = None  # at most so many times the floor
    pair_floor = None  # of a lock that nobody else wants
    pair_goal = None  # of hand-overs beside that: at most so many times
    growth_goal = 1.3  # of a hand-over, from the fewest waiters to the most
    cases = {}
    shares = {}  # of the time
    cores = {}

    @staticmethod
    def add_arguments(parser):
        """Of its own."""


def seconds(text):
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m)?", text)
    if not found:
        raise argparse.ArgumentTypeError(f"not a duration: {text}")
    return float(found.group(1)) * {"ms": 0.001, "s": 1, "m": 60, None: 1}[found.group(2)]


def peer_names(peers):
    def parse(text):
        names = [] if text == "none" else list(peers) if text == "all" else text.split(",")
        for name in names:
            if name not in peers:
                raise argparse.ArgumentTypeError(f"no such peer: {name}; there are {', '.join(peers)}")
        return names

    return parse


def parse_arguments(subject):
    parser = argparse.ArgumentParser(description=subject.description)
    parser.add_argument("--time", type=seconds, default=60, help="how long, without setting up; default 60s")
    parser.add_argument("--only", choices=subject.cases, action="append", help="this case only; may be repeated")
    parser.add_argument("--peers", type=peer_names(subject.peers), default=list(subject.peers),
                        help=f"all (default), none, or some of {','.join(subject.peers)}")
    parser.add_argument("--build", type=Path, default=SOURCES.parent / "build", help="where pawl was built")
    parser.add_argument("--cache", type=Path, help="where peers are built; default bench/peers in the build folder")
    parser.add_argument("--cores", choices=("apart", "same", "any"),
                        help="the server has a core for itself (default for pairs), all share one, or the kernel decides")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--self-test", action="store_true", help="check the arithmetic, and measure nothing")
    subject.add_arguments(parser)
    return parser.parse_args()


def allow_many_files():
    """For a thousand clients, and the server's side of them."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def tell(what):
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)


def measure(subject, arguments, children, folder):
    cast = Cast(subject, arguments.build, arguments.peers, arguments.cache or arguments.build / "bench/peers", tell)
    cases = [case for case in subject.cases if case in (arguments.only or subject.cases)]
    part = sum(subject.shares[case] for case in cases)
    rows = []
    with open(os.path.join(folder, "participants.log"), "wb") as log:
        server = subject.server(children, folder, arguments)
        bench = Bench(subject, children, server, cast, arguments.time / part, folder, log, tell)
        bench.warm_up_server()
        for case in cases:
            children.place(arguments.cores or subject.cores.get(case, "any"))
            bench.server.place(children.server_cores)
            rows += subject.cases[case](bench)
    tell("")
    where = {case: arguments.cores or subject.cores.get(case, "any") for case in cases}
    if arguments.json:
        print_json(rows, bench, where)
    else:
        print_table(rows, bench, where)
        print_missing(bench)


def main(subject):
    arguments = parse_arguments(subject)
    if arguments.self_test:
        unittest.main(module=self_test, argv=sys.argv[:1])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    allow_many_files()
    children = Children()
    with tempfile.TemporaryDirectory(prefix="pawl-bench-") as folder:
        try:
            measure(subject, arguments, children, folder)
        except Failure as error:
            sys.exit(f"\n{subject.store}_bench: {error}")
        except KeyboardInterrupt:
            sys.exit(130)
        finally:
            children.stop_all()
