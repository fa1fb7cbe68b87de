#!/bin/sh
# Runs every fuzzer of a tree of the preset `fuzz` for so many seconds, one after the other, and prints a line for each.
# Fails on a finding, and names the input that repeats it. What is new in the corpus is kept in BUILD/corpus, so that the
# next run goes on from there; tests/fuzz/corpus has the inputs that were written by hand, and those of old findings.
#
# usage: scripts/fuzz.sh BUILD SECONDS [NAME...]
set -eu

build=$1
seconds=$2
shift 2
folder=$(dirname "$0")/../tests/fuzz
mkdir -p "$build/corpus" "$build/findings"
[ $# -gt 0 ] || set -- $(cd "$folder" && ls -- *.cpp | sed 's/\.cpp$//' | grep -vx replay)

export ASAN_OPTIONS="detect_leaks=1:external_symbolizer_path=/usr/bin/llvm-symbolizer-16"
export UBSAN_OPTIONS="print_stacktrace=1:external_symbolizer_path=/usr/bin/llvm-symbolizer-16"
failed=0
for name in "$@"; do
  mkdir -p "$build/corpus/$name"
  log=$build/findings/$name.log
  dictionary=
  [ ! -f "$folder/$name.dict" ] || dictionary=-dict=$folder/$name.dict
  status=0
  "$build/fuzz_$name" -max_total_time="$seconds" -max_len=6000 -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=16 \
    -print_final_stats=1 $dictionary -artifact_prefix="$build/findings/$name-" \
    "$build/corpus/$name" "$folder/corpus/$name" >"$log" 2>&1 || status=$?
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
  if [ "$status" -eq 0 ] && [ -n "$runs" ]; then
    printf '%-18s %9s inputs, %5s edges: nothing found\n' "$name" "$runs" "$edges"
    continue
  fi
  failed=1
  input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
  printf '%-18s FOUND: %s\n' "$name" "$(grep -m 1 -E 'broken:|ERROR: |runtime error:' "$log" || tail -n 1 "$log")"
  printf '  repeat:  %s %s\n' "$build/fuzz_$name" "${input:-(no input was written, see $log)}"
  printf '  details: %s\n' "$log"
done
exit $failed
