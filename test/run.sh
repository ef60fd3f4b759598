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
sh test/ring.sh
