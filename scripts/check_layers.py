#!/usr/bin/env python3
"""Refuses an #include that goes up the layers, and calls that belong to one place only.

The path of a request is the folder tree: lock -> local -> claim -> session -> store. What may include what stands in
ALLOWED below; the rest of the house rules that a line of text can show stand in CALLS.

usage: check_layers.py [ROOT]    default: this repository
       check_layers.py --self-test
"""

import re
import sys
import tempfile
from pathlib import Path

LAYERS = ("testing", "mysql", "lock", "local", "claim", "session", "store", "fencing", "base")

# Which folders of src/ a folder may include besides itself. Public headers are free to all.
ALLOWED = {
    "testing": {"lock", "local", "claim", "session", "store", "fencing", "base"},
    "mysql": {"store", "base"},
    "lock": {"local", "claim", "session", "store", "fencing", "base"},
    "local": {"claim", "session", "store", "fencing", "base"},
    "claim": {"session", "store", "fencing", "base"},
    "session": {"store", "fencing", "base"},
    "store": {"fencing", "base"},
    "fencing": {"base"},
    "base": set(),
}

# Which other store's folder a store may include; net/ is there for all.
STORES = {"redlock": {"redis"}}

# Files directly under src/store/ that know every store.
REGISTRY = re.compile(r"src/store/registry\.[ch]pp$")

# (files, files to leave out, what must not stand there, the rule)
CALLS = [
    (r"src/store/", r"src/store/net/", r"\b(sleep_for|sleep_until|usleep|nanosleep)\b",
     "a store never sleeps: say look_again_in"),
    (r"src/store/", r"src/store/net/", r"\bstd::j?thread\b", "a store starts no thread: use Runtime::offload"),
    (r"src/", r"src/base/", r"_clock::now\b|\b(clock_gettime|gettimeofday)\b|\btime\s*\(\s*(nullptr|NULL|0)\s*\)",
     "only src/base/ reads a clock: ask the Runtime"),
    (r"src/", r"src/base/", r"\b(random_device|mt19937(_64)?|getrandom)\b",
     "only src/base/ draws random numbers: ask the Runtime"),
    (r"src/", None, r"\basio::detached\b|[(,]\s*detached\s*\)",
     "detached swallows exceptions: use base::spawn, or a handler that reports"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
IGNORED = re.compile(r'"(?:\\.|[^"\\])*"|//.*')


def layer_of(path):
    """'lock' for lock/mutex.hpp, '' for anything that is not of src/."""
    first = path.split("/")[0]
    return first if "/" in path and first in LAYERS else ""


def store_of(path):
    """'redis' for store/redis/queue.hpp, '' for the port itself and for all that is no store."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "store" else ""


def public_fault(name, bracket, target):
    """Why a public header may not include `target`, or ''."""
    if bracket == "<" and (target.startswith("pawl/") or "/" not in target and not target.endswith(".h")):
        return ""
    if target == "tl/expected.hpp" or (name.endswith("/asio.hpp") and target.startswith("boost/asio")):
        return ""
    if name.endswith("/mysql.hpp") and target == "mariadb/mysql.h":
        return ""
    return "a public header includes the standard library, <pawl/...> and <tl/expected.hpp> only"


def source_fault(name, target):
    """Why a file below src/ may not include `target`, or ''."""
    inside = name.removeprefix("src/")
    here, there = layer_of(inside), layer_of(target)
    if target.startswith(("tests/", "apps/", "bench/")):
        return "the library never includes its tests or programs"
    if not here or not there:
        return ""
    if here != there and there not in ALLOWED[here]:
        return f"{here}/ must not include {there}/: includes go down the layers"
    other = store_of(target)
    if not other or here != "store" or REGISTRY.search(name):
        return ""
    own = store_of(inside)
    if other == "net":
        return ""
    if own == "":
        return "the port knows no store: only its registry does"
    if other not in {own} | STORES.get(own, set()):
        return f"store/{own}/ must not include store/{other}/: a store is one folder"
    return ""


def include_fault(name, bracket, target):
    """Why `name` may not include `target`, or ''."""
    if name.startswith("include/"):
        return public_fault(name, bracket, target)
    is_test = name.endswith("_test.cpp")
    if name.startswith("src/") and not (is_test and target.startswith("tests/support/")):
        return source_fault(name, target)
    if name.startswith(("apps/", "bench/")) and target.startswith("tests/"):
        return "a program never includes the tests"
    return ""


def check_file(name, text):
    """[(line, rule)] for one file."""
    found = []
    calls = [(what, rule) for where, but, what, rule in CALLS
             if name.startswith(where) and not (but and name.startswith(but)) and not name.endswith("_test.cpp")]
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        if include:
            fault = include_fault(name, *include.groups())
            found += [(number, fault)] if fault else []
            continue
        code = IGNORED.sub("", line)
        found += [(number, rule) for what, rule in calls if re.search(what, code)]
    return found


def check_tree(root):
    """['file:line: rule'] for a whole tree."""
    files = sorted(f for folder in ("src", "include", "apps", "bench", "tests") for f in (root / folder).rglob("*.[ch]pp"))
    return [f"{path.relative_to(root)}:{line}: {rule}" for path in files
            for line, rule in check_file(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))]


# --- self-test: one file each, and a word of the rule that must refuse it ----------------------------------------------

BAD = [
    ("src/local/a.cpp", '#include "lock/mutex.hpp"', "must not include lock/"),
    ("src/claim/a.cpp", '#include "local/queue.hpp"', "must not include local/"),
    ("src/session/a.cpp", '#include "claim/claim.hpp"', "must not include claim/"),
    ("src/session/b.cpp", "#include <claim/claim.hpp>", "must not include claim/"),
    ("src/store/a.cpp", '#include "session/keeper.hpp"', "must not include session/"),
    ("src/store/redis/a.cpp", '#include "lock/mutex.hpp"', "must not include lock/"),
    ("src/store/redis/b.cpp", '#include "local/queue.hpp"', "must not include local/"),
    ("src/store/redis/c.cpp", '#include "claim/claim.hpp"', "must not include claim/"),
    ("src/store/redis/a_test.cpp", '#include "session/keeper.hpp"', "must not include session/"),
    ("src/store/redis/d.cpp", '#include "store/etcd/queue.hpp"', "must not include store/etcd/"),
    ("src/store/redis/e.cpp", '  #  include "store/redlock/vote.hpp"', "must not include store/redlock/"),
    ("src/store/net/a.cpp", '#include "store/redis/queue.hpp"', "must not include store/redis/"),
    ("src/store/store.hpp", '#include "store/redis/queue.hpp"', "knows no store"),
    ("src/base/a.cpp", '#include "fencing/epoch.hpp"', "must not include fencing/"),
    ("src/base/b.cpp", '#include "store/claim.hpp"', "must not include store/"),
    ("src/fencing/a.cpp", '#include "store/claim.hpp"', "must not include store/"),
    ("src/lock/a.cpp", '#include "tests/support/world.hpp"', "never includes its tests"),
    ("src/lock/b.cpp", '#include "apps/cli/main.hpp"', "never includes its tests or programs"),
    ("src/lock/e.cpp", '#include "bench/participant.hpp"', "never includes its tests or programs"),
    ("apps/cli/a.cpp", '#include "tests/support/world.hpp"', "never includes the tests"),
    ("bench/a.cpp", '#include "tests/support/server.hpp"', "never includes the tests"),
    ("include/pawl/a.hpp", '#include "base/time.hpp"', "a public header"),
    ("include/pawl/b.hpp", "#include <boost/asio/awaitable.hpp>", "a public header"),
    ("include/pawl/c.hpp", "#include <fmt/format.h>", "a public header"),
    ("include/pawl/d.hpp", "#include <unistd.h>", "a public header"),
    ("include/pawl/e.hpp", '#include "pawl/token.hpp"', "a public header"),
    ("src/store/file/a.cpp", "std::this_thread::sleep_for(1s);", "never sleeps"),
    ("src/store/file/b.cpp", "::usleep(5);", "never sleeps"),
    ("src/store/file/c.cpp", "std::thread t(f);", "starts no thread"),
    ("src/store/file/d.cpp", "std::jthread t(f);", "starts no thread"),
    ("src/lock/c.cpp", "auto t = std::chrono::steady_clock::now();", "reads a clock"),
    ("src/lock/d.cpp", "auto t = system_clock::now();", "reads a clock"),
    ("src/store/net/b.cpp", "clock_gettime(CLOCK_BOOTTIME, &t);", "reads a clock"),
    ("src/claim/b.cpp", "gettimeofday(&t, nullptr);", "reads a clock"),
    ("src/claim/c.cpp", "auto t = time(nullptr);", "reads a clock"),
    ("src/claim/d.cpp", "std::random_device r;", "random numbers"),
    ("src/fencing/b.cpp", "std::mt19937 r(1);", "random numbers"),
    ("src/fencing/c.cpp", "std::mt19937_64 r(1);", "random numbers"),
    ("src/base/c.cpp", "asio::co_spawn(e, f(), asio::detached);", "swallows exceptions"),
    ("src/session/c.cpp", "co_spawn(e, f(), detached);", "swallows exceptions"),
]

BAD += [
    ("src/store/mysql/a.cpp", '#include "mysql/statement.hpp"', "must not include mysql/"),
    ("src/mysql/b.cpp", '#include "lock/mutex.hpp"', "must not include lock/"),
    ("include/pawl/b.hpp", "#include <mariadb/mysql.h>", "a public header includes"),
]

GOOD = [
    ("src/lock/a.cpp", '#include "lock/a.hpp"\n#include "local/queue.hpp"\n#include "claim/claim.hpp"\n'
                       '#include "session/keeper.hpp"\n#include "store/registry.hpp"\n#include "fencing/fence.hpp"\n'
                       '#include "base/time.hpp"\n#include <pawl/mutex.hpp>\n#include <vector>'),
    ("src/claim/a.cpp", '#include "session/keeper.hpp"\n#include "store/scheme.hpp"'),
    ("src/store/registry.cpp", '#include "store/redis/store.hpp"\n#include "store/etcd/store.hpp"'),
    ("src/store/redis/a.cpp", '#include "store/redis/b.hpp"\n#include "store/net/stream.hpp"\n#include "store/store.hpp"\n'
                              "// sleep_for, std::thread, steady_clock::now()\nthrow Error(\"no std::thread here\");"),
    ("src/store/redlock/a.cpp", '#include "store/redis/store.hpp"'),
    ("src/store/server_url.hpp", '#include "store/net/address.hpp"'),
    ("src/store/net/a.cpp", "std::thread resolver;"),
    ("src/fencing/a.cpp", '#include "base/time.hpp"\n#include "fencing/epoch.hpp"'),
    ("src/base/a.cpp", "clock_gettime(CLOCK_BOOTTIME, &t); auto t = std::chrono::system_clock::now();"),
    ("src/lock/a_test.cpp", '#include "tests/support/world.hpp"\nstd::thread bob(f); auto t = std::chrono::steady_clock::now();'),
    ("src/lock/b.cpp", "auto t = runtime.now(); bool detached_ = false; const auto next_time(0);"),
    ("include/pawl/a.hpp", "#include <pawl/b.hpp>\n#include <tl/expected.hpp>\n#include <stop_token>\nauto t = Clock::now();"),
    ("include/pawl/asio.hpp", "#include <boost/asio/async_result.hpp>"),
    ("include/pawl/mysql.hpp", "#include <mariadb/mysql.h>\n#include <pawl/sequencer.hpp>"),
    ("src/mysql/a.cpp", '#include "store/mysql/schema.hpp"\n#include "base/ids.hpp"\n#include <mariadb/mysql.h>'),
    ("apps/cli/a.cpp", '#include "apps/cli/b.hpp"\n#include <CLI/CLI.hpp>\n#include <pawl/pawl.hpp>'),
    ("tests/contract/a.cpp", '#include "tests/support/world.hpp"\n#include "store/memory/store.hpp"'),
]


def write_tree(root, files):
    for name, text in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")


def self_test():
    """Every bad file is reported once, for its own reason; a clean tree is not reported at all."""
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_tree(root / "bad", [(name, "// line 1\n" + line) for name, line, _ in BAD])
        found = check_tree(root / "bad")
        for name, line, rule in BAD:
            mine = [report for report in found if report.startswith(name + ":")]
            if len(mine) != 1 or not mine[0].startswith(f"{name}:2: ") or rule not in mine[0]:
                failures.append(f"{name}: {line}: expected one report of '{rule}', got {mine}")
        write_tree(root / "good", GOOD)
        failures += [f"good, but refused: {report}" for report in check_tree(root / "good")]
    print("\n".join(failures) or f"{len(BAD)} violations caught, {len(GOOD)} clean files passed")
    return bool(failures)


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    found = check_tree(root)
    if found:
        print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
