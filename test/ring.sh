#!/bin/sh
# Runs one ring of tests (all without an argument) and prints the time of each ring. More arguments go to `bun test`.
set -eu
cd "$(dirname "$0")/.."
bun=node_modules/.bin/bun
ring=${1:-all}
[ $# -eq 0 ] || shift

TMPDIR=$(mktemp -d)
chmod 1777 "$TMPDIR" # as /tmp: a root server's tools, and some tests, run as other users
export TMPDIR
export SVC_TEST_QUANTIZED="$TMPDIR/quantized" # models that several files test
mkdir "$SVC_TEST_QUANTIZED"
trap 'rm -rf "$TMPDIR"' EXIT
# Compute threads of one worker sleep soon when those of the other have the processors.
export GOMP_SPINCOUNT=1000
report=$TMPDIR/junit.xml
log=$TMPDIR/log
# Two workers (SVC_TEST_WORKERS), each with one module registry for all its files: native libraries are loaded once a process.
# shellcheck disable=SC2046 # one word per file; no test has a space in its name
{
    status=0
    "$bun" test --parallel="${SVC_TEST_WORKERS:-2}" --no-isolate --timeout 30000 --reporter=junit --reporter-outfile="$report" \
        $("$bun" test/rings.ts files "$ring") "$@" 2>&1 || status=$?
    echo "$status" >"$TMPDIR/status"
} | tee "$log"
status=$(cat "$TMPDIR/status")
[ "$status" -eq 0 ] || "$bun" test/rings.ts failures "$log"
[ ! -f "$report" ] || { printf '\nTime by ring, two files at a time:\n' && "$bun" test/rings.ts times "$report"; }
exit "$status"
