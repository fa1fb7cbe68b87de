#!/usr/bin/env python3
"""Installs pawl, moves what was installed, and uses it as strangers do: with find_package and with pkg-config.

usage: package_test.py --source DIR --build DIR --compiler CXX --generator NAME --version X.Y.Z --stores a,b
       ctest -L package    does it, after a build
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent

STANDARD_HEADERS = set("""
    algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits
    clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint
    cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem format forward_list fstream
    functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
    memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore
    set shared_mutex source_location span sstream stack stdexcept stop_token streambuf string string_view strstream
    syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray
    variant vector version""".split())

options = None  # the command line


def words_of(text):
    """CMake breaks its messages into lines: one space between words, so that a sentence can be looked for."""
    return " ".join(text.split())


def run(*command, **keywords):
    """What it wrote; a failure of the test when it fails."""
    ended = attempt(*command, **keywords)
    if ended.returncode != 0:
        raise AssertionError(f"{command} ended with {ended.returncode}:\n{ended.stdout}")
    return ended.stdout


def attempt(*command, **keywords):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=240, **keywords)


def fenced(document, language):
    """The ```language blocks of a document."""
    return re.findall(rf"^```{language}\n(.*?)^```", document, re.S | re.M)


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="pawl-package-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name).resolve()
        cls.first_prefix = cls.folder / "first"
        cls.prefix = cls.folder / "moved"
        # `cmake --install` leaves its list in the build tree, where the list of a real installation may be.
        manifest = options.build / "install_manifest.txt"
        before = manifest.read_bytes() if manifest.exists() else None
        try:
            run("cmake", "--install", options.build, "--prefix", cls.first_prefix)
        finally:
            manifest.unlink(missing_ok=True) if before is None else manifest.write_bytes(before)
        cls.first_prefix.rename(cls.prefix)
        cls.pkg_config_path = ":".join(str(path.parent) for path in cls.prefix.rglob("pawl.pc"))

    def environment(self):
        return {**os.environ, "PKG_CONFIG_PATH": self.pkg_config_path}

    def configure(self, project, *definitions):
        """The build tree, and how `cmake` ended there."""
        tree = Path(tempfile.mkdtemp(prefix=f"{project}-", dir=self.folder))
        return tree, attempt("cmake", "-S", HERE / project, "-B", tree, "-G", options.generator,
                             f"-DCMAKE_CXX_COMPILER={options.compiler}", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                             *definitions)

    def find(self, arguments, *definitions, asked="etcd"):
        ended = self.configure("find", f"-DARGUMENTS={';'.join(arguments.split())}", f"-DASKED={asked}", *definitions)[1]
        return ended.returncode, words_of(ended.stdout)

    def use(self, program):
        """Runs the consumer on every store that needs no server, and looks at what it printed."""
        stores = {"memory": "memory:", "file": f"file://{tempfile.mkdtemp(dir=self.folder)}"}
        urls = [url for store, url in stores.items() if store in options.stores]
        printed = run(program, *urls).splitlines()
        self.assertEqual(printed[0], f"pawl {options.version}")
        self.assertEqual(len(printed), 1 + len(urls))
        for line, url in zip(printed[1:], urls):
            self.assertRegex(line, rf"^{re.escape(url)} token \S*[1-9]\S*$")

    # --- CMake

    def test_find_package_gives_a_library_that_works(self):
        tree, configured = self.configure("consumer", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
        self.assertEqual(configured.returncode, 0, configured.stdout)
        run("cmake", "--build", tree)
        self.use(tree / "main")

    def test_a_program_with_an_asio_of_its_own_works(self):
        tree, configured = self.configure("asio", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
        self.assertEqual(configured.returncode, 0, configured.stdout)
        run("cmake", "--build", tree)
        self.assertRegex(run(tree / "main"), r"^token \S*[1-9]\S*\n$")

    def test_the_readme_quotes_the_consumer(self):
        quoted = fenced((options.source / "README.md").read_text(), "cmake")
        self.assertEqual(len(quoted), 1)
        self.assertIn(f"# [readme]\n{quoted[0]}# [readme]\n", (HERE / "consumer" / "CMakeLists.txt").read_text())

    def test_every_store_that_was_built_is_a_component(self):
        code, said = self.find(f"CONFIG REQUIRED COMPONENTS {' '.join(options.stores)}")
        self.assertEqual(code, 0, said)
        self.assertIn(f"stores {';'.join(options.stores)}", said)

    def test_a_required_store_that_was_not_built_is_refused(self):
        for store in {"etcd", "nonsense"} - set(options.stores):
            code, said = self.find(f"CONFIG REQUIRED COMPONENTS memory {store}")
            self.assertNotEqual(code, 0, said)
            self.assertIn(f"This pawl was built without {store}; its stores are: {', '.join(options.stores)}.", said)

    def test_an_optional_store_that_was_not_built_is_not_found_and_pawl_is(self):
        code, said = self.find("CONFIG REQUIRED COMPONENTS memory OPTIONAL_COMPONENTS nonsense", asked="nonsense")
        self.assertEqual(code, 0, said)
        self.assertIn("found 1, memory TRUE, nonsense FALSE,", said)

    def test_only_the_same_minor_version_is_accepted(self):
        major, minor, _ = map(int, options.version.split("."))
        self.assertEqual(self.find(f"{major}.{minor} CONFIG REQUIRED")[0], 0)
        older = [f"{major}.{minor - 1}"] if minor else []
        for other in (f"{major}.{minor + 1}", f"{major + 1}.{minor}", *older):
            code, said = self.find(f"{other} CONFIG REQUIRED")
            self.assertNotEqual(code, 0, said)
            self.assertIn(f"that is compatible with requested version \"{other}\"", said)

    def test_a_missing_library_of_a_store_is_named(self):
        needed = (("file", "LMDB"), ("redis", "hiredis"), ("redis", "OpenSSL"), ("zookeeper", "ZooKeeper"),
                  ("zookeeper", "OpenSSL"), ("mysql", "MariaDB"), ("mysql", "OpenSSL"))
        libraries = [(store, library) for store, library in needed if store in options.stores]
        if not libraries:
            self.skipTest("built with the memory store alone")
        for _, library in libraries:
            code, said = self.find("CONFIG REQUIRED", f"-DCMAKE_DISABLE_FIND_PACKAGE_{library}=ON")
            self.assertNotEqual(code, 0, said)
            self.assertIn(f"This pawl was built with {library}, which was not found here.", said)

    def test_pkg_config_and_cmake_bring_the_libraries_of_the_stores(self):
        wanted = {"lmdb": {"file"}, "hiredis": {"redis"}, "zookeeper_st": {"zookeeper"},
                  "mariadb": {"mysql"}, "nghttp2": {"etcd"}, "protobuf-lite": {"etcd"},
                  "ssl": {"redis", "zookeeper", "mysql", "etcd"}, "crypto": {"redis", "zookeeper", "mysql", "etcd"}}
        flags = run("pkg-config", "--libs", "pawl", env=self.environment()).split()
        modules = {path.name for path in self.prefix.rglob("Find*.cmake")}
        for library, stores in wanted.items():
            self.assertEqual(f"-l{library}" in flags, bool(stores & set(options.stores)), library)
        brought = (("file", "LMDB"), ("redis", "hiredis"), ("zookeeper", "ZooKeeper"), ("mysql", "MariaDB"),
                   ("etcd", "Nghttp2"), ("etcd", "ProtobufLite"))
        self.assertEqual(modules, {f"Find{module}.cmake" for store, module in brought if store in options.stores})

    def test_as_a_subproject_it_is_the_library_and_installs_nothing(self):
        tree, configured = self.configure("subproject", f"-DPAWL_SOURCE={options.source}")
        self.assertEqual(configured.returncode, 0, configured.stdout)
        run("cmake", "--install", tree, "--prefix", self.folder / "nothing")
        self.assertFalse((self.folder / "nothing").exists())

    # --- pkg-config

    def test_the_readme_line_for_pkg_config_gives_a_program_that_works(self):
        lines = [line for block in fenced((options.source / "README.md").read_text(), "sh")
                 for line in block.splitlines() if "pkg-config" in line]
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], r"^g\+\+ ")
        work = self.folder / "pkg-config"
        work.mkdir()
        shutil.copy(HERE / "consumer" / "main.cpp", work)
        run("sh", "-c", lines[0].replace("g++", options.compiler, 1), cwd=work, env=self.environment())
        self.use(work / "main")

    def test_pkg_config_knows_the_version(self):
        printed = run("pkg-config", "--modversion", "pawl", env=self.environment())
        self.assertEqual(printed.strip(), options.version)

    # --- what was installed

    def test_all_of_the_archive_goes_into_a_shared_library(self):
        flags = run("pkg-config", "--libs", "pawl", env=self.environment()).split()
        self.assertEqual(flags.count("-lpawl"), 1)
        at = flags.index("-lpawl")
        flags[at:at + 1] = ["-Wl,--whole-archive", "-lpawl", "-Wl,--no-whole-archive"]
        run(options.compiler, "-shared", "-Wl,-z,text,-z,defs", "-o", self.folder / "libwhole.so", *flags)

    def test_no_installed_file_names_the_tree_it_came_from(self):
        origins = [str(path).encode() for path in (options.source, options.build, self.first_prefix)]
        files = [path for path in self.prefix.rglob("*") if path.is_file()]
        self.assertGreater(len(files), 10)
        for path in files:
            content = self.without_debug_information(path).read_bytes()
            named = [origin.decode() for origin in origins if origin in content]
            self.assertEqual(named, [], path.relative_to(self.prefix))

    def without_debug_information(self, path):
        """Debug information names the sources, as it should; everything else is looked at."""
        if path.suffix != ".a" and path.parent.name != "bin":
            return path
        stripped = self.folder / "stripped"
        run("strip", "--strip-debug", "-o", stripped, path)
        return stripped

    # --- headers

    def headers(self):
        found = sorted((self.prefix / "include" / "pawl").glob("*.hpp"))
        left_out = set() if "mysql" in options.stores else {"mysql.hpp"}
        self.assertEqual({path.name for path in found},
                         {path.name for path in (options.source / "include" / "pawl").glob("*.hpp")} - left_out)
        return found

    def test_each_public_header_compiles_alone(self):
        def alone(header):
            return attempt(options.compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                           f"-I{self.prefix / 'include'}", "-include", f"pawl/{header.name}", "-xc++", "/dev/null")

        with ThreadPoolExecutor(2) as threads:
            for header, ended in zip(self.headers(), threads.map(alone, self.headers())):
                self.assertEqual(ended.returncode, 0, f"{header.name}:\n{ended.stdout}")

    def test_public_headers_include_the_standard_library_and_tl_expected_only(self):
        for header in self.headers():
            for line in re.findall(r"^\s*#\s*include\b.*", header.read_text(), re.M):
                included = re.fullmatch(r"#include <([^>]+)>(\s*//.*)?", line.strip())
                self.assertTrue(included and self.allowed(header.name, included.group(1)), f"{header.name}: {line}")

    def allowed(self, name, included):
        if included.startswith("pawl/"):
            return included not in ("pawl/asio.hpp", "pawl/mysql.hpp") or name == "asio.hpp" != included[5:]
        if included == "mariadb/mysql.h":
            return name == "mysql.hpp"
        if included.startswith("boost/"):
            return name == "asio.hpp"
        return included == "tl/expected.hpp" or included in STANDARD_HEADERS


def main():
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--stores", type=lambda text: text.split(","), required=True)
    options, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    main()
