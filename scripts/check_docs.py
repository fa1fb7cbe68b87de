#!/usr/bin/env python3
"""What the documents quote must be what the tests compile, and what they print must be what the command prints.

Every ```cpp block in README.md, README.zh-CN.md and docs/ must stand, line by line, in a file under examples/; how far it is
indented does not matter. Every relative link must lead to a file, and to a heading in it; a link [`Suite.Case`](x_test.cpp) to a
test that is there. Every block in README.zh-CN.md must stand in README.md, apart from comments behind #.

usage: check_docs.py                           the quotations and the links
       check_docs.py --schemes PAWL [--write]  the tables in docs/guarantees.md: `PAWL schemes --markdown` must print the
                                               same, apart from stores that this PAWL was built without; and docs/schemes.md
                                               must have a row for each scheme
       check_docs.py --self-test
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```cpp\n(.*?)^```", re.S | re.M)
FENCED = re.compile(r"^```.*?^```", re.S | re.M)
COMMENT = re.compile(r"\s+# .*$", re.M)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
TEST_LINK = re.compile(r"\[`(\w+)\.(\w+)`\]\(([^)\s]+\.cpp)\)")
TABLES = re.compile(r"(?<=<!-- pawl schemes --markdown -->\n).*?(?=<!-- end -->)", re.S)


def documents(root):
    return [root / "README.md", root / "README.zh-CN.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]


def indented(block):
    """The block as it may stand in a file: four levels deep at the most."""
    return [textwrap.indent(textwrap.dedent(block), " " * depth) for depth in range(0, 10, 2)]


def quoted(block, examples):
    return any("\n" + form in "\n" + example for form in indented(block) for example in examples)


def anchors(document):
    """What a heading is called in a link."""
    for line in FENCED.sub("", document.read_text()).splitlines():
        if line.startswith("#"):
            yield re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")


def leads_nowhere(document, target, anchor):
    if "://" in target:
        return False
    file = document.parent / target if target else document
    if not file.exists():
        return True
    return bool(anchor) and file.suffix == ".md" and anchor not in anchors(file)


def complaints(root):
    examples = [path.read_text() for path in sorted((root / "examples").glob("*.cpp"))]
    for document in filter(pathlib.Path.exists, documents(root)):
        text = document.read_text()
        where = lambda match: f"{document.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}"
        for block in BLOCK.finditer(text):
            if not quoted(block.group(1), examples):
                yield f"{where(block)}: this code stands in no file under examples/"
        for link in LINK.finditer(text):
            target, anchor = link.groups()
            if leads_nowhere(document, target, anchor):
                yield f"{where(link)}: {target}{'#' + anchor if anchor else ''} does not exist"


def missing_tests(root):
    """Links to tests that are not in the file that they lead to."""
    for document in filter(pathlib.Path.exists, documents(root)):
        for suite, case, target in TEST_LINK.findall(document.read_text()):
            file = document.parent / target
            if file.exists() and not re.search(rf"^TEST\w*\(\s*{suite},\s*{case}\)", file.read_text(), re.M):
                yield f"{document.relative_to(root)}: there is no test {suite}.{case} in {target}"


def untranslated(root):
    """Blocks of the Chinese README that README.md has not got: commands must be the same in both."""
    translation = root / "README.zh-CN.md"
    original = COMMENT.sub("", (root / "README.md").read_text())
    for block in FENCED.findall(translation.read_text()) if translation.exists() else []:
        if COMMENT.sub("", block) not in original:
            yield f"{translation.name}: README.md has not got this: {block.splitlines()[1]}"


def row_key(line):
    """The store and the scheme of a row; nothing for any other line."""
    cells = [cell.strip() for cell in line.split("|")]
    return (cells[1], cells[2]) if line.startswith("| ") and len(cells) > 3 else None


def of_built_stores(tables, printed):
    """The document's tables without the rows of stores that the command was built without."""
    built = {row_key(line)[0] for line in printed.splitlines() if row_key(line)}
    return "".join(line for line in tables.splitlines(True) if not row_key(line) or row_key(line)[0] in built)


def schemes(document, printed, write=False):
    text = document.read_text()
    tables = TABLES.search(text)
    if not tables:
        yield f"{document.name}: there are no tables between <!-- pawl schemes --markdown --> and <!-- end -->"
    elif of_built_stores(tables.group(), printed) != printed:
        if write and of_built_stores(tables.group(), printed) == tables.group():
            document.write_text(text[: tables.start()] + printed + text[tables.end() :])
        elif write:
            yield f"{document.name}: has stores that this pawl was built without; use one that has them all"
        else:
            yield f"{document.name}: `pawl schemes --markdown` prints something else; check_docs.py --schemes PAWL --write"


def unlisted(document, printed):
    """Schemes without a row in the document."""
    listed = {row_key(line) for line in document.read_text().splitlines()}
    for key in dict.fromkeys(filter(None, map(row_key, printed.splitlines()))):
        if key not in listed:
            yield f"{document.name}: there is no row for {' '.join(key)}"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "examples").mkdir()
        (root / "examples" / "a.cpp").write_text("int main() {\n  f();\n    if (a) b();\n}\n")
        readme = root / "README.md"
        readme.write_text("# A b, `c`\n```cpp\nf();\n  if (a) b();\n```\n[a](examples/a.cpp) [b](#a-b-c) [c](README.md#a-b-c)\n")
        assert not list(complaints(root)), list(complaints(root))
        readme.write_text("```cpp\ng();\n```\n```cpp\n(a) b();\n```\n[a](examples/b.cpp) [b](#c)\n")
        assert len(list(complaints(root))) == 4, list(complaints(root))

        (root / "a_test.cpp").write_text("TEST_P(Promise,\n       IsKept) {\n")
        readme.write_text("[`Promise.IsKept`](a_test.cpp)\n")
        assert not list(missing_tests(root)), list(missing_tests(root))
        readme.write_text("[`Promise.IsBroken`](a_test.cpp)\n")
        assert len(list(missing_tests(root))) == 1

        readme.write_text("```sh\na b    # c\nd\n```\n")
        translation = root / "README.zh-CN.md"
        translation.write_text("```sh\na b # e\nd\n```\n")
        assert not list(untranslated(root)), list(untranslated(root))
        translation.write_text("```sh\na c # c\nd\n```\n")
        assert len(list(untranslated(root))) == 1

        printed = "| store | scheme | fair |\n|---|---|---|\n| file | `queue` | yes |\n"
        page = lambda rows: readme.write_text(f"a\n<!-- pawl schemes --markdown -->\n{rows}<!-- end -->\nb\n")
        page(printed)
        assert not list(schemes(readme, printed))
        assert not list(unlisted(readme, printed))
        assert len(list(unlisted(readme, printed + "| redis | `queue` | yes |\n"))) == 1
        page(printed + "| redis | `queue` | yes |\n")
        assert not list(schemes(readme, printed)), "a store that is not built is not judged"
        assert list(schemes(readme, printed.replace("yes", "-"), write=True)), "and never removed"
        page(printed.replace("yes", "-"))
        assert len(list(schemes(readme, printed))) == 1
        assert not list(schemes(readme, printed, write=True)) and not list(schemes(readme, printed))
        readme.write_text("nothing\n")
        assert len(list(schemes(readme, printed))) == 1


def main():
    if "--self-test" in sys.argv:
        return self_test()
    if "--schemes" in sys.argv:
        command = [sys.argv[sys.argv.index("--schemes") + 1], "schemes", "--markdown"]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = [*schemes(ROOT / "docs" / "guarantees.md", printed, "--write" in sys.argv),
                 *unlisted(ROOT / "docs" / "schemes.md", printed)]
    else:
        found = [*complaints(ROOT), *missing_tests(ROOT), *untranslated(ROOT)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
