#!/usr/bin/env python3
"""kazoo's locks behind the line protocol of tests/interop/zookeeper_peer.hpp.

usage: kazoo_lock.py PORT TIMEOUT    a server on the loopback address; the session timeout in milliseconds
"""

import logging
import os
import sys
import threading
import time
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, LockTimeout, NoNodeError


class Wish:
    """One lock that is wanted, on a thread of its own."""

    def __init__(self, lock, wait):
        self.lock = lock
        self.granted = None
        self.error = None
        self.thread = threading.Thread(target=self._acquire, args=(wait,), daemon=True)
        self.thread.start()

    def _acquire(self, wait):
        try:
            self.granted = self.lock.acquire(blocking=wait != 0, timeout=wait / 1000 if wait > 0 else None)
        except LockTimeout:
            self.granted = False
        except KazooException as error:
            self.error = error


class Locks:
    def __init__(self, port, timeout):
        self.address = f"127.0.0.1:{port}"
        self.timeout = timeout / 1000
        self.client = self._client()
        self.client.start()
        self.wishes = {}

    def _client(self, client_id=None):
        return KazooClient(hosts=self.address, timeout=self.timeout, client_id=client_id)

    def _make(self, kind, path):
        if kind.isdigit():  # the number of permits
            return self.client.Semaphore(path, max_leases=int(kind))
        return {"mutex": self.client.Lock, "read": self.client.ReadLock, "write": self.client.WriteLock}[kind](path)

    def begin(self, name, kind, path, wait):
        self.wishes[name] = Wish(self._make(kind, path), int(wait))

    def wait(self, name, within):
        wish = self.wishes[name]
        wish.thread.join(int(within) / 1000)
        if wish.error is not None:
            raise wish.error
        return "news" if wish.granted is None else wish.granted

    def release(self, name):
        return self.wishes.pop(name).lock.release()

    def children(self, path):
        try:
            return " ".join(sorted(self.client.get_children(path)))
        except NoNodeError:
            return ""  # nobody has been there yet

    def write(self, path, text):
        self.client.set(path, text.encode())

    def read(self, path):
        return self.client.get(path)[0].decode()

    def owner(self, path):
        return f"{self.client.exists(path).ephemeralOwner:x}"

    def delete(self, path):
        self.client.delete(path)

    def kill(self):
        """Ends the session at the server: a second connection to it says goodbye in its name. kazoo makes another one."""
        before = self.client.client_id
        twin = self._client(before)
        twin.start()
        twin.stop()
        for _ in range(1000):
            if self.client.connected and self.client.client_id != before:
                return True
            time.sleep(0.01)
        return False

    def bump(self, path):
        file = Path(path)
        number = int(file.read_text())
        time.sleep(0.001)  # whoever else is inside now overwrites what we write, or we what he writes
        file.write_text(str(number + 1))

    def visit(self, kind, path, file, times):
        for _ in range(int(times)):
            with self._make(kind, path):
                self.bump(file)


def answer(locks, words):
    try:
        result = getattr(locks, words[0])(*words[1:])
    except (KazooException, KeyError) as error:
        return f"no {type(error).__name__}"
    if result == "news":
        return "no news"
    if result is False:
        return "no"
    return "ok" if result in (None, True, "") else f"ok {result}"


def main():
    logging.basicConfig()
    locks = Locks(int(sys.argv[1]), int(sys.argv[2]))
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        print(answer(locks, line.split()), flush=True)
    os._exit(0)  # at once: what it still holds is left to its session


if __name__ == "__main__":
    main()
