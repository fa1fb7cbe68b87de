#!/usr/bin/env python3
"""The Redis guard of docs/fencing.md, as it stands there, on a server of its own."""
import pathlib
import subprocess
import tempfile

from guard import HOME, Guard, blocks, play

MARK, WRITE = blocks("lua")
NAIVE = """
local token = redis.call('HGET', KEYS[1], 'token')
if token and token > ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'token', ARGV[2], 'value', ARGV[3])
return 1
"""


class Server:
    """A redis-server on a Unix socket, without persistence."""

    def __init__(self, folder):
        self.socket = str(pathlib.Path(folder) / "redis.sock")
        options = ["--port", "0", "--unixsocket", self.socket, "--save", "", "--dir", str(folder)]
        self.process = subprocess.Popen(["redis-server", *options], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if "ready to accept connections" in line.lower():
                return
        raise SystemExit("redis-server did not start")

    def call(self, *words):
        command = ["redis-cli", "-e", "-s", self.socket, *map(str, words)]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout.strip()

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=300)


class RedisGuard(Guard):
    def __init__(self, server):
        self.server = server
        server.call("FLUSHALL")
        server.call("HSET", "balance", "value", 100)

    def done(self, script, *arguments):
        return self.server.call("EVAL", script, 1, "balance", *arguments) == "1"

    def mark(self, by, store=HOME):
        return self.done(MARK, store, by)

    def read(self):
        return int(self.server.call("HGET", "balance", "value"))

    def write(self, value, by, store=HOME):
        return self.done(WRITE, store, by, value)

    def write_without_a_mark(self, value, by):
        return self.done(NAIVE, HOME, by, value)


with tempfile.TemporaryDirectory(prefix="pawl-guard-") as folder:
    server = Server(folder)
    try:
        play(lambda: RedisGuard(server))
    finally:
        server.stop()
