#!/usr/bin/env python3
"""The etcd guard of docs/fencing.md, as it stands there, on a server of its own.

usage: etcd_guard_test.py ETCD ETCDCTL
"""
import os
import subprocess
import sys
import tempfile
import threading

from guard import HOME, Guard, blocks, play

FRESH, MARK, WRITE = blocks("etcd")
NAIVE = """value("balance/token") < "TOKEN"

put balance VALUE
put balance/token TOKEN

get balance/token

"""
ENDPOINT = "unix://client:1"


class Server:
    """One etcd on a Unix socket in that folder."""

    def __init__(self, etcd, etcdctl, folder):
        self.etcdctl, self.folder = etcdctl, folder
        options = ["--data-dir", "data", "--listen-client-urls", ENDPOINT, "--advertise-client-urls", ENDPOINT]
        options += ["--listen-peer-urls", "unix://peer:1", "--initial-advertise-peer-urls", "unix://peer:1"]
        options += ["--initial-cluster", "default=unix://peer:1"]
        self.process = subprocess.Popen([etcd, *options], cwd=folder, stderr=subprocess.PIPE, text=True)
        log = []
        for line in self.process.stderr:
            log.append(line)
            if "ready to serve client requests" in line:
                break
        else:
            raise SystemExit("etcd did not start:\n" + "".join(log))
        threading.Thread(target=self.process.stderr.read, daemon=True).start()  # or it would stop when the pipe is full

    def call(self, *words, text=None):
        command = [self.etcdctl, "--endpoints", ENDPOINT, "--command-timeout", "300s", *words]
        environment = os.environ | {"ETCDCTL_API": "3"}
        done = subprocess.run(command, cwd=self.folder, input=text, env=environment, capture_output=True, text=True,
                              timeout=400)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=300)


class EtcdGuard(Guard):
    def __init__(self, server):
        self.server = server
        for line in FRESH.replace("STORE", HOME).replace("VALUE", "100").splitlines():
            server.call(*line.split())

    def transaction(self, text, by, store=HOME, value=""):
        filled = text.replace("STORE", store).replace("TOKEN", by).replace("VALUE", str(value))
        return self.server.call("txn", text=filled).split()

    def mark(self, by, store=HOME):
        answer = self.transaction(MARK, by, store)
        return answer[0] == "SUCCESS" or answer[1:] == ["balance/store", store, "balance/token", by]

    def read(self):
        return int(self.server.call("get", "--print-value-only", "balance"))

    def write(self, value, by, store=HOME):
        return self.transaction(WRITE, by, store, value)[0] == "SUCCESS"

    def write_without_a_mark(self, value, by):
        return self.transaction(NAIVE, by, HOME, value)[0] == "SUCCESS"


with tempfile.TemporaryDirectory(prefix="pawl-guard-") as folder:
    server = Server(sys.argv[1], sys.argv[2], folder)
    try:
        play(lambda: EtcdGuard(server))
    finally:
        server.stop()
