#!/bin/sh
# All tests of a store, contract and interop among them, on its newest server and with the newest library of others:
#   zookeeper   the newest server and Curator, from the Java registry
#   etcd        the newest server, etcdctl and Go client, built from Go's registry
#   mysql       the server that PAWL_MARIADBD names, a mariadbd or a mysqld; it is not fetched. The mariadb-install-db that belongs
#               to a mariadbd is PAWL_MARIADB_INSTALL_DB
# Where a registry cannot be reached, it says so, and fails: what was not run is not proven.
# usage: scripts/test_newest.sh [BUILD [STORE...]]     default: build zookeeper etcd, and mysql where PAWL_MARIADBD is set
set -eu

build=$(cd "${1:-build}" && pwd)
[ $# -eq 0 ] || shift
source=$(cd "$(dirname "$0")/.." && pwd)

not_run() {
  echo "test-newest: NOT RUN: $*" >&2
  exit 1
}

need() {
  for tool in "$@"; do
    command -v "$tool" >/dev/null || not_run "$tool is not installed"
  done
}

run_tests() {
  ctest --test-dir "$build" --output-on-failure -R "^((contract|cluster|scheme)/$1_|$1/)"
}

zookeeper() {
  need mvn java timeout
  jars="$build/newest/zookeeper"
  rm -rf "$jars/lib"
  mkdir -p "$jars"
  # A registry may name a version that it does not have: then the one before it.
  below=4
  for attempt in 1 2 3 4 5; do
    timeout 300 mvn -q -B -U -f "$source/tests/newest/pom.xml" "-Dpawl.build=$jars" "-Dzookeeper.version=[3.9,$below)" \
      dependency:copy-dependencies >"$jars/maven.log" 2>&1 && break
    missing=$(sed -n 's/.*org\.apache\.zookeeper:[a-z-]*:[a-z]*:\([0-9.]*\).*/\1/p' "$jars/maven.log" | head -1)
    [ -n "$missing" ] && [ "$attempt" != 5 ] ||
      not_run "the Java registry cannot be reached, or has no such versions: see $jars/maven.log"
    below=$missing
  done
  echo "test-newest: on"
  ls "$jars/lib" | grep -E '^(zookeeper|curator-recipes)-[0-9]' | sed 's/^/  /'
  classes=$(ls "$jars"/lib/*.jar | tr '\n' ':')
  export PAWL_ZOOKEEPER_CLASSPATH="$classes" PAWL_CURATOR_CLASSPATH="$classes"
  run_tests zookeeper
}

# Of programs that cannot be imported: a module that requires all of them at their newest.
build_etcd() (
  cd "$module" && rm -rf bin go.mod go.sum && cp "$source/tests/interop/etcd/main.go" . &&
    go mod init pawl/newest &&
    timeout 600 go get go.etcd.io/etcd/server/v3@latest go.etcd.io/etcd/etcdctl/v3@latest \
      go.etcd.io/etcd/etcdutl/v3@latest go.etcd.io/etcd/client/v3@latest &&
    for part in server etcdctl etcdutl; do
      go build -o "bin/$part" "go.etcd.io/etcd/$part/v3" || exit 1
    done &&
    go build -o bin/peer .
)

etcd() {
  need go timeout
  export GOFLAGS="${GOFLAGS:-} -mod=mod"
  module="$build/newest/etcd"
  log="$module/go.log"
  mkdir -p "$module"
  build_etcd >"$log" 2>&1 || not_run "Go's registry cannot be reached, or what it has cannot be built: see $log"
  echo "test-newest: on"
  "$module/bin/server" --version | sed -n 's/^etcd Version: /  etcd /p'
  (cd "$module" && go list -m go.etcd.io/etcd/client/v3) | sed 's/^/  /'
  export PAWL_ETCD="$module/bin/server" PAWL_ETCDCTL="$module/bin/etcdctl" PAWL_ETCDUTL="$module/bin/etcdutl"
  export PAWL_ETCD_PEER="$module/bin/peer"
  run_tests etcd
}

mysql() {
  [ -n "${PAWL_MARIADBD:-}" ] || not_run "PAWL_MARIADBD names no server"
  version=$("$PAWL_MARIADBD" --no-defaults --version) || not_run "$PAWL_MARIADBD cannot be run"
  echo "test-newest: on"
  echo "  $version"
  export PAWL_MARIADBD
  run_tests mysql
}

failed=""
for store in ${*:-zookeeper etcd ${PAWL_MARIADBD:+mysql}}; do
  case $store in
    zookeeper | etcd | mysql) ("$store") || failed="$failed $store" ;;
    *) not_run "there is no newest $store" ;;
  esac
done
[ -z "$failed" ] || { echo "test-newest: FAILED:$failed" >&2; exit 1; }
