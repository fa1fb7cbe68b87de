#!/usr/bin/env python3
"""Runs the tests of a tree of the preset `coverage`, and prints which lines and branches of the library they ran.

Unit tests, the contract (memory, file, redis/queue) and simulated worlds. Tests with processes of their own are left out:
a process that is killed counts nothing. First a table by folder, then the lines that nothing ran, of the folders that
every store relies on. docs/testing.md says why those are not run.

usage: coverage.py BUILD [--worlds 300] [--keep]    --keep: count what an earlier run has left
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LISTED = ("claim", "session", "local", "lock", "fencing")
CONTRACT = ":".join(f"*/{scheme}" for scheme in ("memory_queue_virtual", "memory_queue_real", "file_queue", "redis_queue"))


def programs(build, worlds):
    return {
        "unit": [build / "pawl_unit_tests", "--gtest_brief=1"],
        "contract": [build / "pawl_contract_tests", "--gtest_brief=1", f"--gtest_filter={CONTRACT}"],
        "simulation": [build / "pawl-sim", "--seed", "0", "--seeds", str(worlds)],
    }


def run_all(build, profiles, worlds):
    """The names of those that failed. All run at once: most of them wait most of the time."""
    shutil.rmtree(profiles, ignore_errors=True)
    profiles.mkdir(parents=True)
    running = {}
    for name, command in programs(build, worlds).items():
        environment = os.environ | {"LLVM_PROFILE_FILE": str(profiles / f"{name}-%p.profraw")}
        with open(profiles / f"{name}.log", "w", encoding="utf-8") as log:
            running[name] = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT)
    failed = []
    for name, process in running.items():
        print(f"{name}: {'passed' if process.wait() == 0 else 'FAILED, see ' + str(profiles / (name + '.log'))}", flush=True)
        failed += [name] if process.returncode != 0 else []
    return failed


def exported(build, profiles, *arguments):
    """What llvm-cov says of the library's own sources."""
    merged = profiles / "all.profdata"
    if not merged.exists():
        raw = sorted(str(path) for path in profiles.glob("*.profraw"))
        # A child that ends by a signal may leave a file that is not whole.
        subprocess.run(["llvm-profdata-16", "merge", "-sparse", "-failure-mode=all", "-o", merged, *raw], check=True,
                       stderr=subprocess.DEVNULL)
    binaries = [str(command[0]) for command in programs(build, 0).values()]
    objects = [word for binary in binaries[1:] for word in ("-object", binary)]
    command = ["llvm-cov-16", "export", binaries[0], *objects, f"-instr-profile={merged}", *arguments,
               "-ignore-filename-regex=(_test\\.cpp|/tests/|/usr/|/build)"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def folder_of(name):
    """'src/store/redis' of a file there; '' for what is no part of the library."""
    path = Path(name)
    if not path.is_relative_to(ROOT):
        return ""
    parts = path.relative_to(ROOT).parts
    if parts[0] == "include":
        return "include"
    return "/".join(parts[:-1][:3]) if parts[0] == "src" else ""


def table(summary):
    sums = defaultdict(lambda: [0, 0, 0, 0])
    for file in summary["data"][0]["files"]:
        folder = folder_of(file["filename"])
        for key in (folder, "all") if folder else ():
            lines, branches = file["summary"]["lines"], file["summary"]["branches"]
            for i, number in enumerate((lines["covered"], lines["count"], branches["covered"], branches["count"])):
                sums[key][i] += number
    rows = [f"{'folder':22} {'lines':>7} {'run':>7}       {'branches':>8} {'both ways':>10}"]
    for folder in sorted(sums, key=lambda name: (name == "all", name)):
        ran, lines, taken, branches = sums[folder]
        rows.append(f"{folder:22} {lines:7} {100 * ran / max(lines, 1):6.1f} %     {branches:8} "
                    f"{100 * taken / max(branches, 1):8.1f} %")
    return "\n".join(rows)


def ranges(numbers):
    """'3, 7-9' of [3, 7, 8, 9]."""
    found = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def missed_lines(lcov):
    """[(file, its lines that nothing ran)]"""
    name, lines, found = "", [], []
    for line in lcov.splitlines():
        if line.startswith("SF:"):
            name, lines = line[3:], []
        elif line.startswith("DA:"):
            number, count = line[3:].split(",")[:2]
            lines += [int(number)] if count == "0" else []
        elif line == "end_of_record" and lines and folder_of(name):
            found.append((Path(name).relative_to(ROOT).as_posix(), lines))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--worlds", type=int, default=300)
    parser.add_argument("--keep", action="store_true")
    wish = parser.parse_args()
    profiles = wish.build.resolve() / "profiles"
    failed = [] if wish.keep else run_all(wish.build.resolve(), profiles, wish.worlds)
    print("\n" + table(json.loads(exported(wish.build.resolve(), profiles, "-summary-only"))))
    print("\nlines that nothing ran:")
    for name, lines in missed_lines(exported(wish.build.resolve(), profiles, "-format=lcov")):
        if name.startswith(tuple(f"src/{folder}/" for folder in LISTED)):
            print(f"  {name}: {ranges(lines)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
