#!/usr/bin/env python3
"""The SQL guard of docs/fencing.md, as it stands there, in SQLite."""
import pathlib
import re
import sqlite3

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
table, update = re.findall(r"^```sql\n(.*?)^```", (ROOT / "docs" / "fencing.md").read_text(), re.S | re.M)


def token(epoch, counter, sub=0):
    """As pawl::Token::to_string() writes it."""
    return f"{epoch:012x}{counter:016x}{sub:04x}"


database = sqlite3.connect(":memory:")
database.execute(table)
database.execute("INSERT INTO register (id, value) VALUES ('balance', 0), ('other', 0)")


def written(value, by):
    return database.execute(update, {"id": "balance", "value": value, "token": by}).rowcount


def value(row="balance"):
    return database.execute("SELECT value FROM register WHERE id = ?", (row,)).fetchone()[0]


alice, bob = token(7, 33), token(7, 34)
assert written(100, alice) == 1, "the first holder writes"
assert written(101, alice) == 1, "and writes again"
assert written(200, bob) == 1, "a later holder writes"
assert written(102, alice) == 0 and value() == 200, "whoever was overtaken does not"
assert written(201, token(7, 34, 1)) == 1, "a hand-off inside a client is a later holder"
assert written(202, bob) == 0, "and overtakes the one before"
assert written(300, token(7, 0x100)) == 1, "digits do not change the order"
assert written(400, token(8, 1)) == 1, "a new epoch is larger than any count"
assert written(301, token(7, 2**64 - 1)) == 0 and value() == 400
assert value("other") == 0, "other rows are left alone"
