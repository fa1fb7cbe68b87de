#!/usr/bin/env python3
"""The SQL guard of docs/fencing.md, as it stands there, in SQLite."""
import sqlite3

from guard import HOME, Guard, blocks, play

TABLE, MARK, WRITE = blocks("sql")


class SqlGuard(Guard):
    def __init__(self):
        self.database = sqlite3.connect(":memory:")
        self.database.execute(TABLE)
        self.database.execute("INSERT INTO register (id, value) VALUES ('balance', 100), ('other', 5)")

    def changed(self, statement, **values):
        rows = self.database.execute(statement, {"id": "balance"} | values).rowcount
        other = self.database.execute("SELECT value, store, token FROM register WHERE id = 'other'").fetchone()
        assert other == (5, None, "0" * 32), "other rows are left alone"
        return rows == 1

    def mark(self, by, store=HOME):
        return self.changed(MARK, token=by, store=store)

    def read(self):
        return self.database.execute("SELECT value FROM register WHERE id = 'balance'").fetchone()[0]

    def write(self, value, by, store=HOME):
        return self.changed(WRITE, value=value, token=by, store=store)

    def write_without_a_mark(self, value, by):
        naive = "UPDATE register SET value = :value, token = :token WHERE id = :id AND token <= :token"
        return self.changed(naive, value=value, token=by)


play(SqlGuard)
