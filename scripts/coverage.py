#!/usr/bin/env python3
"""Runs the tests of a tree in which `pawl_counted_programs` are built (cmake/coverage.cmake), and prints which lines and
branches of the library they ran.

Unit tests, the contract (memory, file, redis/queue) and simulated worlds. Tests with processes of their own are left out:
a process that is killed counts nothing. First a table by folder; then the lines that nothing ran, of the folders that
every store relies on. docs/testing.md says why those are not run. Code in headers is not counted.

usage: coverage.py BUILD [--worlds 300] [--keep] [--self-test]    --keep: count what an earlier run has left
"""

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARDS = 4
LISTED = ("claim", "session", "local", "lock", "fencing")
CONTRACT = ":".join(f"*/{scheme}" for scheme in ("memory_queue_virtual", "memory_queue_real", "file_queue", "redis_queue"))


def counters(build, ending):
    return sorted(path for folder in (build / "CMakeFiles").glob("*_counted*.dir") for path in folder.rglob("*" + ending))


def run_all(build, worlds):
    """The names of those that failed. All run at once: most of them wait most of the time."""
    for old in counters(build, ".gcda"):
        old.unlink()
    commands = {
        "unit": [build / "pawl_unit_tests_counted", "--gtest_brief=1"],
        "simulation": [build / "pawl-sim_counted", "--seed", "0", "--seeds", str(worlds)],
    }
    contract = [build / "pawl_contract_tests_counted", "--gtest_brief=1", f"--gtest_filter={CONTRACT}"]
    commands |= {f"contract-{shard + 1}": contract for shard in range(SHARDS)}
    running = {}
    for name, command in commands.items():
        shard = int(name.split("-")[1]) - 1 if "-" in name else 0
        shards = {"GTEST_TOTAL_SHARDS": str(SHARDS), "GTEST_SHARD_INDEX": str(shard)} if "-" in name else {}
        with open(build / f"coverage-{name}.log", "w", encoding="utf-8") as log:
            running[name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT,
                                             env=os.environ | shards)
    failed = []
    for name, process in running.items():
        passed = process.wait() == 0
        print(f"{name}: {'passed' if passed else f'FAILED, see {build}/coverage-{name}.log'}", flush=True)
        failed += [] if passed else [name]
    return failed


def counted(build):
    """What gcov says of each object file: [{"files": [...]}]."""
    for notes in counters(build, ".gcno"):
        out = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", notes], check=True, cwd=build,
                             capture_output=True, text=True).stdout
        yield from (json.loads(line) for line in out.splitlines() if line.startswith("{"))


def summed(reports):
    """{file: ({line: count}, {(line, branch): count})}. A file may be compiled twice; branches to an exception's way out
    are left out."""
    files = {}
    for report in reports:
        for file in report["files"]:
            lines, branches = files.setdefault(file["file"], (defaultdict(int), defaultdict(int)))
            for line in file["lines"]:
                number = line["line_number"]
                lines[number] += line["count"]
                for i, branch in enumerate(branch for branch in line["branches"] if not branch["throw"]):
                    branches[number, i] += branch["count"]
    return files


def folder_of(name):
    """'src/store/redis' of a source there; '' for all that is no source of the library."""
    path = Path(name)
    path = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return "/".join(path.parts[:-1][:3]) if path.parts[0] == "src" and path.suffix == ".cpp" else ""


def table(files):
    sums = defaultdict(lambda: [0, 0, 0, 0])
    for name, (lines, branches) in files.items():
        for key in (folder_of(name), "all") if folder_of(name) else ():
            numbers = (sum(1 for n in lines.values() if n), len(lines), sum(1 for n in branches.values() if n), len(branches))
            sums[key] = [old + new for old, new in zip(sums[key], numbers)]
    rows = [f"{'folder':22} {'lines':>6} {'run':>8}   {'branches':>8} {'taken':>8}"]
    for folder in sorted(sums, key=lambda name: (name == "all", name)):
        ran, lines, taken, branches = sums[folder]
        rows.append(f"{folder:22} {lines:6} {100 * ran / max(lines, 1):6.1f} %   {branches:8} "
                    f"{100 * taken / max(branches, 1):6.1f} %")
    return "\n".join(rows)


def ranges(numbers):
    """'3, 7-9' of [3, 7, 8, 9]."""
    found = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def self_test():
    assert ranges([9, 3, 7, 8]) == "3, 7-9"
    branch = lambda count, throw=False: {"count": count, "throw": throw, "fallthrough": False}
    line = lambda number, count, *branches: {"line_number": number, "count": count, "branches": list(branches)}
    name = str(ROOT / "src/store/redis/a.cpp")
    one = {"files": [{"file": name, "lines": [line(1, 0), line(2, 3, branch(3), branch(0), branch(9, True))]}]}
    other = {"files": [{"file": name, "lines": [line(1, 2), line(3, 0)]}, {"file": "/usr/include/x", "lines": [line(1, 1)]}]}
    files = summed([one, other])
    assert dict(files[name][0]) == {1: 2, 2: 3, 3: 0} and dict(files[name][1]) == {(2, 0): 3, (2, 1): 0}
    assert folder_of(name) == "src/store/redis" and not folder_of("/usr/include/x")
    assert "src/store/redis             3   66.7 %          2   50.0 %" in table(files), table(files)
    return 0


def main():
    if "--self-test" in sys.argv:
        return self_test()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--worlds", type=int, default=300)
    parser.add_argument("--keep", action="store_true")
    wish = parser.parse_args()
    build = wish.build.resolve()
    failed = [] if wish.keep else run_all(build, wish.worlds)
    files = summed(counted(build))
    print("\n" + table(files) + "\n\nlines that nothing ran:")
    for name, (lines, _) in sorted(files.items()):
        missed = [number for number, count in lines.items() if not count]
        if missed and folder_of(name).startswith(tuple(f"src/{folder}" for folder in LISTED)):
            print(f"  {Path(name).relative_to(ROOT) if Path(name).is_absolute() else name}: {ranges(missed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
