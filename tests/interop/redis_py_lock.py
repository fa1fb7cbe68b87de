#!/usr/bin/env python3
"""redis-py's Lock behind the line protocol of tests/interop/peer.hpp.

usage: redis_py_lock.py PORT    a server on the loopback address
"""

import sys
import time
from pathlib import Path

import redis


class Locks:
    def __init__(self, port):
        self.redis = redis.Redis(host="127.0.0.1", port=port)
        self.locks = {}

    def acquire(self, name, lease, wait):
        lock = self.redis.lock(name, timeout=None if int(lease) < 0 else int(lease) / 1000, sleep=0.01)
        granted = lock.acquire(blocking=int(wait) != 0, blocking_timeout=None if int(wait) <= 0 else int(wait) / 1000)
        if granted:
            self.locks[name] = lock
        return granted

    def release(self, name):
        self.locks.pop(name).release()

    def extend(self, name, more):
        self.locks[name].extend(int(more) / 1000)

    def owned(self, name):
        return str(name in self.locks and self.locks[name].owned()).lower()

    def locked(self, name):
        return str(self.redis.lock(name).locked()).lower()

    def ttl(self, name):
        return self.redis.pttl(name)

    def bump(self, path):
        file = Path(path)
        number = int(file.read_text())
        time.sleep(0.001)  # whoever else is inside now overwrites what we write, or we what he writes
        file.write_text(str(number + 1))

    def visit(self, name, path, times):
        for _ in range(int(times)):
            with self.redis.lock(name, timeout=30, sleep=0.01):
                self.bump(path)


def answer(locks, words):
    try:
        result = getattr(locks, words[0])(*words[1:])
    except (redis.exceptions.RedisError, KeyError) as error:
        return f"no {type(error).__name__}"
    if result is False:
        return "no"
    return "ok" if result in (None, True) else f"ok {result}"


def main():
    locks = Locks(int(sys.argv[1]))
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "quit":
            return
        print(answer(locks, line.split()), flush=True)


if __name__ == "__main__":
    main()
