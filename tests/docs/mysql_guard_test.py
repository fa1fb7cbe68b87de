#!/usr/bin/env python3
"""The SQL guard of docs/fencing.md, as it stands there, on a MariaDB server of its own.

usage: mysql_guard_test.py MARIADBD MARIADB_INSTALL_DB
"""
import os
import re
import subprocess
import sys
import tempfile
import threading

import pymysql
from pymysql.constants import CLIENT, ER

from guard import HOME, Guard, blocks, play, token

TABLE, MARK, WRITE = blocks("sql")
NAIVE = "UPDATE register SET value = :value, token = :token WHERE id = :id AND token <= :token"
READ = "SELECT value FROM register WHERE id = :id"
REPEATABLE_READ, READ_COMMITTED = "REPEATABLE READ", "READ COMMITTED"
ALICE, BOB = token(7, 33), token(7, 34)


class Server:
    """One MariaDB server with a Unix socket and no port. All its files are in that folder."""

    def __init__(self, mariadbd, install, folder):
        self.socket = os.path.join(folder, "socket")
        options = ["--no-defaults", f"--datadir={folder}/data", f"--tmpdir={folder}"]
        options += ["--user=root"] if os.geteuid() == 0 else []
        made = subprocess.run([install, *options, "--auth-root-authentication-method=normal", "--skip-test-db"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500)
        if made.returncode != 0:
            raise SystemExit("mariadb-install-db failed:\n" + made.stdout)
        options += [f"--socket={self.socket}", f"--pid-file={folder}/pid", "--skip-networking", "--skip-log-bin"]
        self.process = subprocess.Popen([mariadbd, *options], stderr=subprocess.PIPE, text=True)
        log = []
        for line in self.process.stderr:
            log.append(line)
            if "ready for connections" in line:
                break
        else:
            raise SystemExit("mariadbd did not start:\n" + "".join(log))
        threading.Thread(target=self.process.stderr.read, daemon=True).start()  # or it would stop when the pipe is full

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=300)


class Connection:
    """One client's connection. Every statement is a transaction, except between begin() and commit()."""

    def __init__(self, server, isolation, flags=CLIENT.FOUND_ROWS, snapshot_isolation=False):
        self.connection = pymysql.connect(unix_socket=server.socket, user="root", client_flag=flags, autocommit=True)
        self.run("CREATE DATABASE IF NOT EXISTS guard")
        self.run("USE guard")
        self.run(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
        self.run("SET SESSION innodb_lock_wait_timeout = 0")  # an error at once, where it would wait for a row
        self.run(f"SET SESSION innodb_snapshot_isolation = {int(snapshot_isolation)}")  # the default from 11.6 on

    def run(self, statement, **values):
        """How many rows, and what is in them."""
        with self.connection.cursor() as cursor:
            named = re.sub(r":(\w+)", r"%(\1)s", statement)  # PyMySQL's way to write parameters
            count = cursor.execute(named, {"id": "balance"} | values)
            return count, cursor.fetchall()

    def begin(self):
        self.run("START TRANSACTION")

    def commit(self):
        self.run("COMMIT")

    def mark(self, by, store=HOME):
        return self.run(MARK, token=by, store=store)[0] == 1

    def read(self, row="balance"):
        return self.run(READ, id=row)[1][0][0]

    def write(self, value, by, store=HOME):
        return self.run(WRITE, value=value, token=by, store=store)[0] == 1

    def write_other(self, value):
        return self.run("UPDATE register SET value = :value WHERE id = 'other'", value=value)[0] == 1


class MysqlGuard(Guard):
    """For the scenes that every guard has to pass: each holder has its own connection, and commits each statement."""

    def __init__(self, server, isolation):
        self.server, self.isolation, self.connections = server, isolation, {}
        fresh_table(self.of("table"))

    def of(self, holder):
        if holder not in self.connections:
            self.connections[holder] = Connection(self.server, self.isolation)
        return self.connections[holder]

    def mark(self, by, store=HOME):
        return self.of(by).mark(by, store)

    def read(self):
        return self.of("reader").read()

    def write(self, value, by, store=HOME):
        return self.of(by).write(value, by, store)

    def write_without_a_mark(self, value, by):
        return self.of(by).run(NAIVE, value=value, token=by)[0] == 1


def fresh_table(connection):
    connection.run("DROP TABLE IF EXISTS register")
    connection.run(TABLE)
    connection.run("INSERT INTO register (id, value) VALUES ('balance', 100), ('other', 5)")


def refused_with(code, call):
    try:
        call()
    except pymysql.MySQLError as error:
        return error.args[0] == code
    return False


def mark_read_and_write_in_one_transaction(alice, bob):
    assert alice.mark(ALICE) and alice.read() == 100
    bob.begin()
    assert bob.mark(BOB) and bob.read() == 100
    assert refused_with(ER.LOCK_WAIT_TIMEOUT, lambda: alice.write(107, ALICE)), "she waits for the row that bob has marked"
    assert bob.write(101, BOB)
    bob.commit()
    assert not alice.write(107, ALICE) and alice.read() == 101


def begin_takes_no_snapshot(alice, bob):
    assert alice.mark(ALICE)
    bob.begin()
    assert alice.write(107, ALICE), "bob has not marked yet"
    assert bob.mark(BOB)
    assert bob.read() == 107, "the mark came before the first read"
    bob.commit()


def a_read_before_the_mark_loses_an_update(alice, bob):
    assert alice.mark(ALICE) and alice.read() == 100
    seen_by_bob = bob.read()
    assert alice.write(107, ALICE), "bob has not marked yet"
    assert bob.mark(BOB) and bob.write(seen_by_bob + 1, BOB)
    assert bob.read() == 101, "100, +7, +1: she was told that it was written, and it is lost"


def a_snapshot_from_before_the_mark(alice, bob, bobs_second_connection, isolation):
    """Bob's transaction has read another row before; he marks through another connection of his."""
    assert alice.mark(ALICE) and alice.read() == 100
    bob.begin()
    assert bob.read("other") == 5
    assert alice.write(107, ALICE) and alice.write_other(6), "bob has not marked yet"
    assert bobs_second_connection.mark(BOB)
    old = isolation == REPEATABLE_READ
    assert bob.read() == (100 if old else 107) and bob.read("other") == (5 if old else 6)
    assert bob.write(bob.read() + 1, BOB), "the write compares with the row as it is now"
    bob.commit()
    assert bob.read() == (101 if old else 108), "an update is lost in the old snapshot"


def a_mark_in_a_transaction_that_has_read(alice, bob, isolation):
    """The row that the mark has changed is read as it is now; other rows as they were at the first read."""
    assert alice.mark(ALICE)
    bob.begin()
    assert bob.read("other") == 5
    assert alice.write(107, ALICE) and alice.write_other(6)
    assert bob.mark(BOB) and bob.read() == 107
    assert bob.read("other") == (5 if isolation == REPEATABLE_READ else 6)
    bob.commit()
    assert bob.read("other") == 6, "after the commit there is a new snapshot"


def snapshot_isolation_refuses_the_late_mark(alice, bob):
    assert alice.mark(ALICE)
    bob.begin()
    assert bob.read() == 100
    assert alice.write(107, ALICE)
    assert refused_with(ER.CHECKREAD, lambda: bob.mark(BOB)), "nothing was marked: begin again"
    assert bob.mark(BOB) and bob.read() == 107


def rows_are_counted_that_match(plain, found_rows):
    assert plain.mark(ALICE) and plain.write(107, ALICE)
    assert not plain.mark(ALICE) and not plain.write(107, ALICE), "nothing changed: it looks like being overtaken"
    assert found_rows.mark(ALICE) and found_rows.write(107, ALICE)


def play_on(server, isolation):
    def scene(play_it, *more, **options):
        alice, bob = Connection(server, isolation), Connection(server, isolation, **options)
        fresh_table(alice)
        play_it(alice, bob, *more)

    play(lambda: MysqlGuard(server, isolation))
    scene(mark_read_and_write_in_one_transaction)
    scene(begin_takes_no_snapshot)
    scene(a_read_before_the_mark_loses_an_update)
    scene(a_snapshot_from_before_the_mark, Connection(server, isolation), isolation)
    scene(a_mark_in_a_transaction_that_has_read, isolation)
    if isolation == REPEATABLE_READ:
        scene(snapshot_isolation_refuses_the_late_mark, snapshot_isolation=True)


with tempfile.TemporaryDirectory(prefix="pawl-guard-") as folder:
    server = Server(sys.argv[1], sys.argv[2], folder)
    try:
        for isolation in [REPEATABLE_READ, READ_COMMITTED]:
            play_on(server, isolation)
        plain = Connection(server, REPEATABLE_READ, flags=0)
        fresh_table(plain)
        rows_are_counted_that_match(plain, Connection(server, REPEATABLE_READ))
    finally:
        server.stop()
