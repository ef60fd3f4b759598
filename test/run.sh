#!/bin/sh
# npm test: sets up what is missing, then runs everything that CI runs. Prints what each stage is.
set -eu
cd "$(dirname "$0")/.."

stage() { printf '\n== %s\n' "$*"; }

stage "packages and build"
./install.sh
ls -l svc

stage "format, lint, types, dead code"
if node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'; then
    npm run --silent check
else
    echo "SKIPPED: the checks, whose tools need Node.js 20.19 or newer; this is $(node --version)"
fi

stage "tests"
TMPDIR=$(mktemp -d)
chmod 1777 "$TMPDIR" # as /tmp: a root server's tools, and some tests, run as other users
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
# Compute threads of one worker sleep soon when those of the other have the processors.
export GOMP_SPINCOUNT=1000
# Two workers, each with one module registry for all its files: native libraries are loaded once a process.
node_modules/.bin/bun test --parallel=2 --no-isolate --timeout 30000
