#!/bin/sh
# Installs what pawl needs on Debian 12. Does nothing when all of it is there.
# usage: scripts/setup.sh [build|test|all]     default: all
#   build: to compile the library and the command; test: also for `make test`; all: also for sanitizers, fuzzing and lint
set -eu

build="
  build-essential g++ cmake ninja-build ccache python3 pkg-config
  libboost1.81-dev libexpected-dev libfmt-dev libcli11-dev
  liblmdb-dev libhiredis-dev libssl-dev libzookeeper-st-dev libmariadb-dev
  libnghttp2-dev libprotobuf-dev protobuf-compiler
"
test="
  git rsync openssl libgtest-dev libgmock-dev liblua5.1-0-dev
  redis-server redis-sentinel redis-tools python3-redis
  libzookeeper-java openjdk-17-jdk-headless libcurator-recipes-java python3-kazoo
  etcd-server etcd-client mariadb-server-core mariadb-client-core python3-pymysql systemd
"
# Any will do.
command -v vi >/dev/null || test="$test vim-tiny"
all="
  clang-16 libclang-rt-16-dev clang-tidy-16 clang-format-16 llvm-16
"

fail() {
  echo "setup: $*" >&2
  exit 1
}

case "${1:-all}" in
  build) packages=$build ;;
  test) packages="$build $test" ;;
  all) packages="$build $test $all" ;;
  *) fail "usage: scripts/setup.sh [build|test|all]" ;;
esac

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
  fail "this is not Debian or a relative of it; please install these yourself:" $packages

missing=""
for package in $packages; do
  is_installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root="env"
elif command -v sudo >/dev/null; then
  as_root="sudo env"
else
  fail "must be root, or have sudo, to install:$missing"
fi

echo "setup: installing$missing"
$as_root DEBIAN_FRONTEND=noninteractive apt-get update -q
$as_root DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
