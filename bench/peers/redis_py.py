"""redis-py's Lock as a participant: see bench/README.md. One client per process with its default pool; each thread is a
waiter of its own."""

import sys
import threading
import time

import redis

LEASE = 30  # seconds
now = time.monotonic_ns


class Peer:
    def __init__(self):
        self.client = None
        self.held = {}

    def open(self, url, scheme, clients):
        self.client = redis.Redis.from_url(url)
        self.client.ping()

    def prepare(self, name):
        pass

    def lock(self, name):
        return self.client.lock(name, timeout=LEASE)  # its own pause between tries: 0.1 s

    def take(self, name):
        lock = self.held.setdefault(name, self.lock(name))
        if not acquire(lock, now() + 10_000_000_000):
            raise RuntimeError("somebody else holds " + name)
        return str(now())

    def give(self, name):
        released = now()
        self.held[name].release()
        return str(released)

    def pairs(self, name, milliseconds):
        lock = self.lock(name)
        samples = []
        end = now() + int(milliseconds) * 1_000_000
        begin = now()
        while begin < end:
            if not acquire(lock, end + 1_000_000_000):
                raise RuntimeError("somebody else holds " + name)
            lock.release()
            done = now()
            samples.append(done - begin)
            begin = done
        samples.sort()
        return f"{len(samples)} {samples[len(samples) // 2]} {samples[len(samples) * 99 // 100]}"

    def threads(self, name, count, milliseconds):
        begin = now()
        end = begin + int(milliseconds) * 1_000_000

        def part(_):
            lock = self.lock(name)
            held = 0
            while now() < end and acquire(lock, end):
                lock.release()
                held += 1
            return held

        total = sum(in_threads(int(count), part))
        return f"{total} {now() - begin}"

    def contend(self, name, clients, hold, start, end):
        hold, start, end = int(hold), int(start), int(end)

        def part(index):
            lock = self.lock(name)
            report = []
            sleep_until(start + index * 1_000_000)
            while (asked := now()) < end:
                acquired = acquire(lock, end)
                since = now()
                if not acquired:
                    report.append(f"{asked},0,0")
                    break
                if hold > 0:
                    sleep_until(since + hold * 1000)
                released = now()
                lock.release()
                report.append(f"{asked},{since},{released}")
            return " ".join(report)

        return " | ".join(in_threads(int(clients), part))


def acquire(lock, until):
    left = (until - now()) / 1e9
    return left > 0 and lock.acquire(blocking_timeout=left)


def sleep_until(at):
    time.sleep(max(0, at - now()) / 1e9)


def in_threads(count, part):
    results = [None] * count
    failures = []

    def run(index):
        try:
            results[index] = part(index)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return results


def main():
    peer = Peer()
    for line in sys.stdin:
        words = line.split()
        if words[0] == "quit":
            break
        try:
            answer = getattr(peer, words[0])(*words[1:])
            print("ok", answer) if answer else print("ok")
        except Exception as error:
            print("error", str(error).replace("\n", " "))
        sys.stdout.flush()


main()
