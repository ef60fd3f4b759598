#!/bin/sh
# npm test: sets up what is missing, then runs everything that CI runs. Prints what each stage is.
set -eu
cd "$(dirname "$0")/.."

stage() { printf '\n== %s\n' "$*"; }

stage "packages"
[ -x node_modules/.bin/bun ] && [ node_modules/.package-lock.json -nt package-lock.json ] ||
    npm ci --no-audit --no-fund --loglevel=error

bun=node_modules/.bin/bun

stage "format, lint, types, dead code"
npm run --silent check

stage "build"
"$bun" src/build.ts
ls -l svc

stage "tests"
"$bun" test --timeout 30000
