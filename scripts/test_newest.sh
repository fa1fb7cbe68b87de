#!/bin/sh
# All tests of the ZooKeeper store, contract and interop among them, on the newest server and with the newest Curator, from the Java
# registry. Where that cannot be reached, it says so, and fails: what was not run is not proven.
# usage: scripts/test_newest.sh [BUILD]     default: build
set -eu

build=$(cd "${1:-build}" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
jars="$build/newest"

fail() {
  echo "test-newest: NOT RUN: $*" >&2
  exit 1
}

for tool in mvn java timeout; do
  command -v "$tool" >/dev/null || fail "$tool is not installed"
done
rm -rf "$jars/lib"
mkdir -p "$jars"
# A registry may name a version that it does not have: then the one before it.
below=4
for attempt in 1 2 3 4 5; do
  timeout 300 mvn -q -B -U -f "$source/tests/newest/pom.xml" "-Dpawl.build=$jars" "-Dzookeeper.version=[3.9,$below)" \
    dependency:copy-dependencies >"$jars/maven.log" 2>&1 && break
  missing=$(sed -n 's/.*org\.apache\.zookeeper:[a-z-]*:[a-z]*:\([0-9.]*\).*/\1/p' "$jars/maven.log" | head -1)
  [ -n "$missing" ] && [ "$attempt" != 5 ] ||
    fail "the Java registry cannot be reached, or has no such versions: see $jars/maven.log"
  below=$missing
done

echo "test-newest: on"
ls "$jars/lib" | grep -E '^(zookeeper|curator-recipes)-[0-9]' | sed 's/^/  /'
classes=$(ls "$jars"/lib/*.jar | tr '\n' ':')
export PAWL_ZOOKEEPER_CLASSPATH="$classes" PAWL_CURATOR_CLASSPATH="$classes"
exec ctest --test-dir "$build" --output-on-failure -R '^((contract|cluster)/zookeeper_|zookeeper/)'
