#!/bin/sh
# Runs one ring of tests (all without an argument), two files at a time (SVC_TEST_WORKERS), and prints the time of each ring. More arguments
# go to `bun test`.
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
"$bun" test/rings.ts run "$ring" "$TMPDIR/junit.xml" "$@"
