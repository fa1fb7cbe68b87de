#!/usr/bin/env python3
"""How long `pawl` takes to start, beside what it is compared with, in turns: both meet the same machine load.

    pawl version                      an empty C++ program, linked with libstdc++
    pawl run NAME -- true             flock FILE true
    pawl run of a build before (--before PAWL), if one is given

The store is a folder of its own; its first run, which makes it, does not count. The ratios are medians over the rounds.

usage: start_bench.py [--pawl build/pawl] [--rounds 300] [--before PAWL]
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

EMPTY = "#include <iostream>\nint main() {}\n"


def seconds(command, silence):
    begin = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, silence, 1)])
    status = os.waitpid(pid, 0)[1]
    if status != 0:
        raise SystemExit(f"{' '.join(command)} ended with status {status}")
    return time.perf_counter() - begin


def compile_empty(folder):
    source, program = folder / "empty.cpp", folder / "empty"
    source.write_text(EMPTY)
    subprocess.run(["c++", "-O2", str(source), "-o", str(program)], check=True)
    return str(program)


def cases(options, folder):
    """Name, command, name of what it is compared with."""
    true, flock = shutil.which("true"), shutil.which("flock")
    run = ["run", "--store", f"file://{folder}/store", "job", "--", true]
    yield "empty C++ program", [compile_empty(folder)], None
    yield "pawl version", [options.pawl, "version"], "empty C++ program"
    yield "flock FILE true", [flock, str(folder / "lock"), true], None
    yield "pawl run NAME -- true", [options.pawl, *run], "flock FILE true"
    if options.before:
        yield "the same, before", [options.before, *run], "flock FILE true"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pawl", default=str(pathlib.Path(__file__).resolve().parent.parent / "build" / "pawl"))
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--before")
    options = parser.parse_args()
    silence = os.open(os.devnull, os.O_WRONLY)
    with tempfile.TemporaryDirectory(prefix="pawl-start-") as name:
        all_cases = list(cases(options, pathlib.Path(name)))
        times = {case: [] for case, _, _ in all_cases}
        for round_number in range(-3, options.rounds):
            for case, command, _ in all_cases:
                taken = seconds(command, silence)
                if round_number >= 0:
                    times[case].append(taken)
    for case, _, floor in all_cases:
        line = f"{case:24} {statistics.median(times[case]) * 1e3:6.2f} ms"
        if floor:
            line += f"   ratio {statistics.median(a / b for a, b in zip(times[case], times[floor])):5.2f} to {floor}"
        print(line)


if __name__ == "__main__":
    main()
