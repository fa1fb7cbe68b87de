#!/usr/bin/env python3
"""Runs every example of the command that README, docs/, the manual page and the help print, as it stands there: in bash, with the
built pawl, and with a program for each `./name` and `/usr/local/bin/name` that notes that it has run.

Hosts and places of the examples are replaced by those of the test (Stage.places). An example that is not run, or that ends with another
code than 0, is named in EXPECTED with the reason; an entry there that no example matches is an error.

usage: command_examples_test.py PAWL
"""
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAWL = str(pathlib.Path(sys.argv[1]).resolve())
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))]
HELP = ["run", "hold", "elect"]

# Part of an example: its exit code, or None if it is not run, and why.
EXPECTED = {
    "zookeeper://": (None, "no ZooKeeper here: tests/zookeeper/interop_test.cpp runs it with other libraries' clients"),
    "pawl schema": (None, "no MySQL here: tests/process/cli_mysql_test.cpp applies the schema"),
    "pawl leader api": (1, "nobody leads when the command of pawl elect has ended"),
    'pawl check "$PAWL_SEQUENCER" || exit 1     # does': (0, "inside: stands in the command of a pawl run"),
    'pawl check "$PAWL_SEQUENCER" || exit 1\n': (0, "inside: stands in the command of a pawl run"),
}
PROGRAM = re.compile(r"(?:\./|/usr/local/bin/)([\w.-]+)")
CRON = re.compile(r"^(?:\S+ ){5}(?=pawl )", re.M)


def from_pages():
    for page in PAGES:
        for language, text in re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M):
            if language in ("", "sh") and re.search(r"^(?:\S+=\S* )?pawl ", text, re.M):
                yield page, text


def from_manual():
    manual = (ROOT / "docs" / "pawl.1").read_text()
    for text in re.findall(r"^\.nf\n\.RS\n(.*?)^\.RE\n\.fi", manual, re.S | re.M):
        text = text.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")
        if re.search(r"\bpawl ", text) and "\\f" not in text:
            yield "docs/pawl.1", text


def from_help():
    for subcommand in HELP:
        printed = subprocess.run([PAWL, subcommand, "--help"], capture_output=True, text=True, check=True).stdout
        examples = re.search(r"^Examples:\n((?:  .*\n)+)", printed, re.M).group(1)
        lines = [line[2:] for line in examples.splitlines()]
        if subcommand == "hold":
            yield "pawl hold --help", "\n".join(lines) + "\n"  # one script
        else:
            for line in lines:
                yield f"pawl {subcommand} --help", line + "\n"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Redis:
    """A redis-server with these users."""

    def __init__(self, folder, *users):
        self.port = free_port()
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
        self.process = subprocess.Popen(["redis-server", *options], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if "ready to accept connections" in line.lower():
                break
        else:
            raise SystemExit("redis-server did not start")
        for user in users:
            words = ["redis-cli", "-e", "-p", str(self.port), "ACL", "SETUSER", *user]
            subprocess.run(words, check=True, capture_output=True, timeout=300)

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=300)


class Stage:
    """A folder with all that the examples name."""

    def __init__(self, folder, redis, guarded_redis):
        self.folder = pathlib.Path(folder)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        (self.bin / "pawl").symlink_to(PAWL)
        for program in ("migrate", "vacuum", "make", "move"):
            self.program(program)
        (self.folder / "shared").mkdir()
        (self.folder / "shared").chmod(0o2770)
        (self.folder / "password").write_text("secret\n")
        host = f"127.0.0.1:{redis.port}"
        guarded = f"127.0.0.1:{guarded_redis.port}/0?password_file"
        self.places = [("db7/0?password_file", guarded), ("db7:6379", host), ("db7", host),
                       ("/etc/backup/redis", f"{folder}/password"), ("/srv/locks", f"{folder}/shared"),
                       ("/usr/local/bin/", f"{folder}/bin/")]

    def program(self, name):
        path = self.bin / name
        path.write_text(f'#!/bin/sh\necho "{name}" >> "{self.folder}/ran"\n')
        path.chmod(0o755)
        link = self.folder / name
        if not link.exists():
            link.symlink_to(path)

    def run(self, text, inside):
        (self.folder / "ran").unlink(missing_ok=True)
        programs = set(PROGRAM.findall(text))
        for name in programs:
            self.program(name)
        for there, here in self.places:
            text = text.replace(there, here)
        command = ["bash", "-e", "-c", CRON.sub("", text)]
        if inside:
            command = [PAWL, "run", "around", "--", *command]
        environment = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOSTNAME": "here", "PAWL_STORE": f"file://{self.folder}/store"}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=600)
        ran = set((self.folder / "ran").read_text().split()) if (self.folder / "ran").exists() else set()
        return done, programs - ran


def expectation(text):
    for part, expected in EXPECTED.items():
        if part in text:
            return part, expected
    return None, (0, "")


def take_own_group():
    """Where there is no terminal; see tests/support/own_group.cpp."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY))
    except OSError:
        os.setpgid(0, 0)


def main():
    take_own_group()
    faults, used, run = [], set(), 0
    with tempfile.TemporaryDirectory(prefix="pawl-examples-") as folder:
        redis = Redis(folder, ["user", "on", ">password", "~*", "&*", "+@all"])
        guarded_redis = Redis(folder, ["default", "resetpass", ">secret"])
        try:
            stage = Stage(folder, redis, guarded_redis)
            for where, text in [*from_pages(), *from_manual(), *from_help()]:
                part, (code, reason) = expectation(text)
                used.add(part)
                if code is None:
                    print(f"{where}: not run, {reason}: {text.splitlines()[0]}")
                    continue
                done, idle = stage.run(text, inside=reason.startswith("inside"))
                run += 1
                if done.returncode != code or idle:
                    faults.append(f"{where}: exit code {done.returncode}, not {code}; did not run: {sorted(idle)}\n{text}{done.stdout}"
                                  f"{done.stderr}")
        finally:
            redis.stop()
            guarded_redis.stop()
    faults += [f"EXPECTED: no example has {part!r}" for part in EXPECTED if part not in used]
    if run < 25:
        faults.append(f"only {run} examples were found")
    print(f"{run} examples were run")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
