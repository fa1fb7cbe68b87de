#!/usr/bin/env python3
"""What the documents quote must be what the tests compile.

Every ```cpp block in README.md and docs/ must stand, letter by letter, in a file under examples/ (between two lines
`// [readme]`, or anywhere in it). Every relative link must lead to a file.
"""
import pathlib
import re
import sys
import tempfile

BLOCK = re.compile(r"^```cpp\n(.*?)^```", re.S | re.M)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def documents(root):
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]


def complaints(root):
    examples = [path.read_text() for path in sorted((root / "examples").glob("*.cpp"))]
    for document in filter(pathlib.Path.exists, documents(root)):
        text = document.read_text()
        for block in BLOCK.finditer(text):
            if not any(block.group(1) in example for example in examples):
                line = text.count("\n", 0, block.start()) + 1
                yield f"{document.relative_to(root)}:{line}: this code stands in no file under examples/"
        for link in LINK.finditer(text):
            target = link.group(1)
            if "://" not in target and not (document.parent / target).exists():
                line = text.count("\n", 0, link.start()) + 1
                yield f"{document.relative_to(root)}:{line}: {target} does not exist"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "examples").mkdir()
        (root / "examples" / "a.cpp").write_text("int main() {\n  f();\n}\n")
        (root / "README.md").write_text("```cpp\n  f();\n```\n[a](examples/a.cpp)\n")
        assert not list(complaints(root))
        (root / "README.md").write_text("```cpp\n  g();\n```\n[a](examples/b.cpp)\n")
        assert len(list(complaints(root))) == 2


def main():
    if "--self-test" in sys.argv:
        return self_test()
    found = list(complaints(pathlib.Path(__file__).resolve().parent.parent))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
