#!/bin/sh
# Tortures stores on servers of its own; what `make torture` runs, behind the build of pawl_torture.
# usage: scripts/torture.sh BUILD-FOLDER STORE SECONDS [SEED]
# Histories of the fenced resources are also checked by Porcupine, where go and its module registry are in reach.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1/torture"
build=$(cd "$1" && pwd)
porcupine=$build/torture/porcupine
if ! command -v go >/dev/null; then
  echo "go is not installed: Porcupine is skipped"
  porcupine=
elif ! (cd "$root/tests/torture/porcupine" && go test . && go build -o "$porcupine" .) >"$build/torture/porcupine.log" 2>&1; then
  echo "Porcupine cannot be built, and is skipped; see $build/torture/porcupine.log"
  porcupine=
fi
set -- --store "$2" --seconds "$3" ${4:+--seed "$4"}
exec "$build/pawl_torture" "$@" ${porcupine:+--porcupine "$porcupine"}
