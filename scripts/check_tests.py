#!/usr/bin/env python3
"""Refuses a test that cannot fail: a body without any assertion; and two fixtures under one suite name in a folder, which one
program would refuse to run.

An assertion is one of GoogleTest's, a static_assert, or a call of a helper whose name says that it asserts: expect_..., must_... A test whose
body only calls such a helper is fine.

usage: check_tests.py [ROOT]    default: this repository
       check_tests.py --self-test
"""

import re
import sys
from pathlib import Path

CASE = re.compile(r"^TEST(?:_F|_P)?\((\w+), (\w+)\) \{(.*?)^\}|^TEST(?:_F|_P)?\((\w+), (\w+)\) \{(.*)\}$",
                  re.DOTALL | re.MULTILINE)
FIXTURE = re.compile(r"^TEST(_F|_P)?\((\w+),", re.MULTILINE)
ASSERTION = re.compile(r"\b(?:EXPECT_|ASSERT_|FAIL\b|ADD_FAILURE\b|static_assert\b|expect_|must_)")


def blind_tests(text):
    """The names of those in a source that assert nothing."""
    for case in CASE.finditer(text):
        suite, name, body = case.group(1, 2, 3) if case.group(1) else case.group(4, 5, 6)
        if not ASSERTION.search(body):
            yield f"{suite}.{name}"


def fixtures(text, source):
    """(suite, fixture) of each test; a fixture belongs to the source that defines it, and that of TEST() to all."""
    for macro, suite in FIXTURE.findall(text):
        yield suite, (macro, source if macro else "")


def clashes(sources):
    """The suites that have several fixtures; `sources` are (name, text)."""
    found = {}
    for name, text in sources:
        for suite, fixture in fixtures(text, name):
            found.setdefault(suite, set()).add(fixture)
    return sorted(suite for suite, of_suite in found.items() if len(of_suite) > 1)


def check(root):
    complaints = []
    for folder in sorted((root / "tests").iterdir()):
        sources = [(path.name, path.read_text()) for path in sorted(folder.glob("*_test.cpp"))]
        for suite in clashes(sources):
            complaints.append(f"tests/{folder.name}: the suite {suite} has several fixtures; name them differently")
    for folder in ("src", "tests"):
        for path in sorted((root / folder).rglob("*_test.cpp")):
            for name in blind_tests(path.read_text()):
                complaints.append(f"{path.relative_to(root)}: {name} asserts nothing, so it cannot fail")
    return complaints


def self_test():
    assert list(blind_tests("TEST(A, Blind) {\n  call();\n}\n")) == ["A.Blind"]
    assert list(blind_tests("TEST_F(A, OneLine) { call(); }\n")) == ["A.OneLine"]
    assert not list(blind_tests("TEST_P(A, Sees) {\n  if (x) {\n    EXPECT_TRUE(y);\n  }\n}\n"))
    assert not list(blind_tests("TEST(A, ByAHelper) {\n  expect_order(turns);\n}\n"))
    assert list(blind_tests("TEST(A, Blind) {\n  call();\n}\nTEST(A, Sees) {\n  EXPECT_TRUE(y);\n}\n")) == ["A.Blind"]
    assert clashes([("a", "TEST(A, B) {"), ("b", "TEST_F(A, C) {")]) == ["A"]
    assert not clashes([("a", "TEST(A, B) {"), ("b", "TEST(A, C) {\nTEST_F(D, E) {")])
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    complaints = check(root)
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
