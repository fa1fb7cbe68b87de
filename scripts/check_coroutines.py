#!/usr/bin/env python3
"""Refuses the forms of co_await that GCC 12.2 miscompiles.

GCC 12.2 corrupts memory for `if (co_await f())` (PR106188), and destroys some temporaries twice when they share a full
expression with a co_await: aggregates, lambdas with captures, `?:` on class values. The cure is always the same: give
the thing a name in a statement of its own.

The check reads text, not types, so it also refuses harmless twins (a trivially destructible `Options{}`). Where one
is wanted as it stands, the comment `// trivially destructible` on its line, or on the line before, lets it pass.
It cannot see an aggregate that is a *defaulted* argument.

usage: check_coroutines.py [FILE...]    default: every source of the repository
       check_coroutines.py --self-test
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "include", "apps", "tests", "examples")
ALLOWED = "trivially destructible"

CONDITION = "co_await in a condition: bind the result to a name first (GCC PR106188)"
TERNARY = "?: in one expression with co_await: use if/else"
LAMBDA = "a lambda that captures by value in one expression with co_await: name it first"
ARGUMENT = "a braced argument in one expression with co_await: name the object first"
TEMPORARY = "a temporary T{...} in one expression with co_await: name it first"
INSIDE = "co_await inside braces: name the values first"

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
      | (?P<text>(?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+')
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.']+)*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign>->|::|&&|\|\||\S)""",
    re.S | re.M | re.X,
)


@dataclass
class Item:
    """A token, or a bracketed group (`text` is then its opening bracket) with what it holds."""

    text: str
    line: int
    is_word: bool = False
    items: list = field(default_factory=list)


def parse(source):
    """The tokens of `source` as a tree of brackets, and the lines on which the check is told to look away."""
    root = Item("{", 1)
    stack, allowed, line = [root], set(), 1
    end = 0
    for match in TOKEN.finditer(source):
        line += source.count("\n", end, match.start())
        end = match.start()
        kind, text = match.lastgroup, match.group()
        if kind == "comment" and ALLOWED in text:
            allowed |= {line, line + 1}
        if kind in ("comment", "directive"):
            continue
        if text in ")]}":
            if len(stack) > 1:
                closed = stack.pop()
                if closed.text == "[" and [inner.text for inner in closed.items] == ["["]:
                    stack[-1].items.pop()  # an attribute
            continue
        item = Item('""' if kind == "text" else text, line, kind == "word")
        stack[-1].items.append(item)
        if text in "([{":
            stack.append(item)
    return root, allowed


# --- what a bracket is ------------------------------------------------------------------------------------------------

EXPRESSION_WORDS = {"return", "co_return", "co_await", "co_yield", "throw", "else", "do", "case"}
BLOCK_WORDS = {"else", "do", "try", "const", "noexcept", "override", "final", "mutable", "requires"}
CLASS_WORDS = {"namespace", "class", "struct", "union", "enum", "extern", "concept"}
CONTROL_WORDS = {"if", "while", "switch", "for", "catch"}


def is_capture(items, i):
    """Is the `[` at `i` a lambda's? Not a subscript or a structured binding."""
    if items[i].text != "[":
        return False
    if i == 0:
        return True
    before = items[i - 1]
    if before.is_word:
        return before.text in EXPRESSION_WORDS
    if before.text in ("&", "&&") and i > 1 and items[i - 2].text == "auto":
        return False
    return before.text not in ("(", "[", '""', "{")


def lambda_body(items, i):
    """The index of the body of the lambda whose captures are at `i`, or None."""
    for j in range(i + 1, len(items)):
        if items[j].text == "{":
            return j
        if items[j].text in (";", ",", "="):
            return None
    return None


def is_block(head):
    """Does a `{` after these items of a statement open a block, rather than an initialiser?"""
    if not head:
        return True
    last, texts = head[-1], [item.text for item in head]
    if last.text in ("(", "{", ":", "&", "&&") or last.text in BLOCK_WORDS:
        return True
    if "=" in texts or texts[0] in EXPRESSION_WORDS:
        return False
    return bool(CLASS_WORDS & set(texts)) or any(a == "(" and b == "->" for a, b in zip(texts, texts[1:]))


# --- statements -------------------------------------------------------------------------------------------------------


def statements(block):
    """Every full expression in a block and in the blocks and lambdas below it, as (items, is it a condition?)."""
    head, i, items = [], 0, block.items
    while i < len(items):
        item = items[i]
        if item.text == ";":
            yield head, False
            head = []
        elif item.text == "(" and head and head[0].text in CONTROL_WORDS and len(head) <= 2:
            yield from condition(item, head[0].text)
            head = []
            if i + 1 < len(items) and items[i + 1].text == "{":
                i += 1
                yield from statements(items[i])
        elif item.text == "{" and is_block(head):
            yield head, False
            yield from statements(item)
            head = []
        elif not (item.text == ":" and head and head[0].text in ("case", "default")):
            head.append(item)
            if is_capture(items, i):
                body = lambda_body(items, i)
                if body is not None:
                    head += items[i + 1 : body + 1]
                    i = body
        else:
            head = []
        i += 1
        if item.text in ("else", "do", "try") and len(head) == 1:
            head = []
    yield head, False


def condition(group, word):
    """The parts of `if (...)`, `for (...)` and the like."""
    parts = [[]]
    for item in group.items:
        if item.text == ";":
            parts.append([])
        else:
            parts[-1].append(item)
    tested = 1 if word == "for" else len(parts) - 1
    for i, part in enumerate(parts):
        yield part, i == tested and word != "catch"


def own_bodies(items):
    """The bodies of the lambdas that stand at this level of an expression."""
    found = (lambda_body(items, i) for i in range(len(items)) if is_capture(items, i))
    return [items[body] for body in found if body is not None]


def all_bodies(items):
    """The bodies of the lambdas anywhere in an expression, but not those inside another body."""
    own = own_bodies(items)
    yield from own
    for item in items:
        if not any(item is body for body in own):
            yield from all_bodies(item.items)


# --- rules ------------------------------------------------------------------------------------------------------------


def awaits(items):
    """Does this expression await, lambda bodies aside?"""
    skip = {id(body) for body in own_bodies(items)}
    return any(item.text == "co_await" or awaits(item.items) for item in items if id(item) not in skip)


def captures_by_value(captures):
    """Anything but `this`, `&` and `&name`: a closure of references has nothing to destroy."""
    first = True
    for item in captures:
        if first and item.text not in ("&", "this"):
            return True
        first = item.text == ","
    return False


def type_before(items, i):
    """The name in `Name{` or `Name<...>{` that ends before `i`, or ''."""
    depth = 0
    for item in reversed(items[:i]):
        depth += {">": 1, "<": -1}.get(item.text, 0)
        if depth == 0 and item.text != "<":
            return item.text if item.is_word else ""
    return ""


def faults(items, nested=False):
    """The rules that an expression with a co_await breaks."""
    skip = {id(body) for body in own_bodies(items)}
    for i, item in enumerate(items):
        if id(item) in skip:
            continue
        if item.text == "?":
            yield item, TERNARY
        if is_capture(items, i):
            if captures_by_value(item.items):
                yield item, LAMBDA
        elif item.text == "{":
            name = type_before(items, i)
            if awaits(item.items):
                yield item, INSIDE
            elif nested and (i == 0 or items[i - 1].text == ","):
                yield item, ARGUMENT
            elif name[:1].isupper() or name == "array":
                yield item, TEMPORARY
        if item.items:
            yield from faults(item.items, True)


def is_declaration(items):
    """`auto x = ...`: a name for the result, so not the condition that goes wrong."""
    texts = [item.text for item in items]
    return "=" in texts and texts.index("=") >= 2 and all(
        item.is_word or item.text in ("::", "<", ">", "&", "&&", "*", "[") for item in items[: texts.index("=")])


def check(source):
    """[(line, reason)] for a source text: the first fault of each full expression."""
    root, allowed = parse(source)
    found, pending = [], [root]
    while pending:
        for items, is_condition in statements(pending.pop()):
            pending += all_bodies(items)
            if not awaits(items):
                continue
            if is_condition and not is_declaration(items):
                found.append((items[0].line, CONDITION))
                continue
            for item, reason in faults(items):
                if item.line not in allowed:
                    found.append((item.line, reason))
                    break
    return sorted(found)


# --- self-test --------------------------------------------------------------------------------------------------------

BAD = [
    ("if (co_await f()) g();", CONDITION),
    ("if (!co_await f()) { g(); }", CONDITION),
    ("if (a && co_await f()) { g(); }", CONDITION),
    ("if (auto x = g(); co_await f(x)) { }", CONDITION),
    ("if constexpr (true) { while (co_await f()) g(); }", CONDITION),
    ("while (co_await f()) { g(); }", CONDITION),
    ("do { g(); } while (co_await f());", CONDITION),
    ("for (; co_await f();) { g(); }", CONDITION),
    ("switch (co_await f()) { case 1: g(); }", CONDITION),
    ("if (x == co_await f()) g();", CONDITION),
    ("if (a) b(); else if (co_await f()) c();", CONDITION),
    ("if ((co_await f()).ok()) g();", CONDITION),
    ("auto x = co_await f(a ? b : c);", TERNARY),
    ("auto x = a ? co_await f() : co_await g();", TERNARY),
    ("co_return co_await f() ? a : b;", TERNARY),
    ("co_await f([x] { return x; });", LAMBDA),
    ("co_await f([=] { return x; });", LAMBDA),
    ("co_await f([&a, b](int i) mutable -> int { return b; });", LAMBDA),
    ("co_await f([x = std::move(y)]() { return x; });", LAMBDA),
    ("co_await [self]() -> awaitable<void> { co_return; }();", LAMBDA),
    ("auto r = co_await f({1, 2});", ARGUMENT),
    ("co_await f(a, {});", ARGUMENT),
    ("co_await f(a, {.wait = 2s, .label = \"x\"}, use_awaitable);", ARGUMENT),
    ("co_await f(g(h({a})));", ARGUMENT),
    ("auto r = co_await f(Claim{a, b});", TEMPORARY),
    ("co_await f(store::Claim{});", TEMPORARY),
    ("co_await f(Pair<int, Text<char>>{a, b});", TEMPORARY),
    ("co_await f(std::array<Text, 2>{a, b});", TEMPORARY),
    ("co_await M{}.f();", TEMPORARY),
    ("g(Claim{a}, co_await f());", TEMPORARY),
    ("co_return Claim{co_await f(), b};", INSIDE),
    ("co_return {co_await f(), b};", INSIDE),
    ("Claim c{co_await f()};", INSIDE),
    ("Claim c = {a, co_await f()};", INSIDE),
    ("auto t = [] { return [&]() -> awaitable<void> { co_await f({a}); }; };", ARGUMENT),
    ("spawn(r, [x]() -> awaitable<void> { if (co_await f()) g(); }());", CONDITION),
    ("try { co_await f({a}); } catch (const E& e) { }", ARGUMENT),
    ("for (auto& x : list) co_await f({x});", ARGUMENT),
    ("switch (x) { case A: co_await f({a}); break; default: co_await g(); }", ARGUMENT),
    ("char c = '\"'; co_await f({a}); char d = '\"';", ARGUMENT),
    ("int n = 1'000; co_await f({a}); int m = 1'000;", ARGUMENT),
]

GOOD = [
    "auto r = co_await f(); if (r) g();",
    "if (auto r = co_await f()) g();",
    "if (const Result<int>& r = co_await f()) g();",
    "if (auto r = co_await f(); !r) co_return r.error();",
    "while (true) { Woke w = co_await wakeup.wait(deadline); if (w == Woke::timed_out) break; }",
    "for (auto& x : list) co_await f(x);",
    "for (int i = 0; i < 3; ++i) { co_await f(i); }",
    "if (a) co_await f(); else co_await g();",
    "if (a ? b : c) co_await f();",
    "if (a) { b({1}); } co_await f();",
    "co_await f([] { return 1; });",
    "co_await f([&] { return x; });",
    "co_await f([this, &y] { return x + y; });",
    "co_await f([&](int i) { return Claim{i}; });",
    "co_await f([&] { return a ? b : c; });",
    "auto [a, b] = co_await f();",
    "const auto& [a, b] = co_await f();",
    "x[i] = co_await f(y[j]);",
    "co_await f(std::string{\"abc\"}, std::chrono::seconds{5}, asio::use_awaitable_t<>{});",
    "Claim c{a, b}; co_await f(c);",
    "Claim c = {a, b}; co_await f(std::move(c));",
    "auto task = [x]() -> awaitable<void> { co_await f(); }; co_await task();",
    "spawn(r, [x]() -> awaitable<void> { co_await f(); }());",
    "spawn(r, Claim{a}, [x]() mutable -> awaitable<void> { co_await f(); });",
    "// co_await f({a})\n/* if (co_await f()) */ g(\"co_await f({a})\");",
    "auto s = R\"(co_await f({a}))\"; co_await g();",
    "switch (x) { case A: co_await f(); break; case B: { co_await g(); } default: co_return; }",
    "co_await f({.wait = 2s});  // trivially destructible",
    "// trivially destructible\nco_await f({.wait = 2s});",
    "struct Local { int a = 0; awaitable<void> run() { co_await f(); } };",
    "[[maybe_unused]] auto r = co_await f();",
]

TOP_LEVEL_GOOD = [
    "#include <a>\n#define AWAIT(x) if (co_await x) g()\nstruct S { int a{}; };\n",
    "Store::Store(int a) : a_{a}, b_(a) { }\nawaitable<void> Store::f() const { co_await g(); }",
    "auto f(int a) -> awaitable<Result<int>> { co_return co_await g(a); }",
    "template <class T>\nawaitable<T> f(T a = {}) { co_return co_await g(a); }",
    "namespace a::b { enum class E : int { x, y }; awaitable<void> f() noexcept { co_await g(); } }",
]


def self_test():
    """Every bad form is caught for the right reason, and no good one is."""
    failures = []
    for body, reason in BAD:
        found = [why for _, why in check(f"awaitable<void> t() {{\n{body}\n}}\n")]
        if found != [reason]:
            failures.append(f"expected [{reason}], got {found}: {body}")
    for text in [f"awaitable<void> t() {{\n{body}\n}}\n" for body in GOOD] + TOP_LEVEL_GOOD:
        if check(text):
            failures.append(f"good, but refused: {check(text)}: {text}")
    if check("void a() {\n\n  co_await f(\n    {a});\n}") != [(4, ARGUMENT)]:
        failures.append("wrong line number")
    print("\n".join(failures) or f"{len(BAD)} bad forms caught, {len(GOOD) + len(TOP_LEVEL_GOOD)} good ones passed")
    return bool(failures)


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    files = [Path(name) for name in arguments]
    if not files:
        files = sorted(f for folder in FOLDERS for f in (ROOT / folder).rglob("*.[ch]pp"))
    failed = False
    for path in files:
        source = path.read_text(encoding="utf-8")
        if "co_await" not in source:
            continue
        for line, reason in check(source):
            shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
            print(f"{shown}:{line}: {reason}")
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
