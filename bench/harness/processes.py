"""The programs that take part."""

import ctypes
import os
import select
import signal
import subprocess
import time

PATIENCE = 120  # seconds for an answer: a hang guard


class Failure(Exception):
    pass


class Children:
    """Everything that was started, so that nothing of it is left."""

    def __init__(self, cores="any"):
        self.running = []
        self.place(cores)

    def place(self, cores):
        """Where those who are started from now on run, and where the server does."""
        usable = sorted(os.sched_getaffinity(0))
        self.cores = self.server_cores = usable
        if cores != "any":
            self.server_cores = usable[:1]
            self.cores = usable[:1] if cores == "same" else usable[1:] or usable

    def start(self, command, **options):
        def prepare():
            os.sched_setaffinity(0, self.cores)
            die_with_parent()

        try:
            process = subprocess.Popen(command, start_new_session=True, preexec_fn=prepare, **options)
        except OSError as error:
            raise Failure(f"{command[0]} does not start: {error.strerror}") from None
        self.running.append(process)
        return process

    def stop(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        self.running.remove(process)

    def stop_all(self):
        for process in list(self.running):
            self.stop(process)


def die_with_parent():
    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


class Participant:
    """One program that speaks the line protocol."""

    def __init__(self, children, who, log):
        self.who = who
        self.children = children
        self.rest = b""
        self.process = children.start(who.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)

    def send(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Failure(f"{self.who.name}: it is gone") from None

    def answer(self):
        deadline = time.monotonic() + PATIENCE
        parts = [self.rest]
        while b"\n" not in parts[-1]:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Failure(f"{self.who.name}: no answer within {PATIENCE} s")
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                raise Failure(f"{self.who.name}: it is gone")
            parts.append(part)
        line, _, self.rest = b"".join(parts).partition(b"\n")
        word, _, words = line.decode().partition(" ")
        if word != "ok":
            raise Failure(f"{self.who.name}: {words}")
        return words

    def ask(self, line):
        self.send(line)
        return self.answer()

    def stop(self):
        self.children.stop(self.process)


class Fleet:
    """Several processes of one participant, which do things at the same time."""

    def __init__(self, children, who, processes, log):
        self.who = who
        self.members = []
        self.members = [Participant(children, who, log) for _ in range(processes)]

    def ask_all(self, lines):
        for member, line in zip(self.members, lines):
            member.send(line)
        return [member.answer() for member in self.members]

    def stop(self):
        for member in self.members:
            member.stop()
