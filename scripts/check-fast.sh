#!/bin/sh
# npm run check:fast: what npm run check would say of the files that differ from the upstream branch, in seconds: format, lint with
# types. Types, words, generated files and links of documents are checked as a whole.
set -eu
cd "$(dirname "$0")/.."
bin=node_modules/.bin
base=$(git merge-base HEAD '@{upstream}' 2>/dev/null || git rev-parse HEAD)
files=$({
    git diff --name-only --diff-filter=d "$base" -- '*.ts' '*.tsx'
    git ls-files --others --exclude-standard -- '*.ts' '*.tsx'
} | grep -E '^(src|ffi|ui|test|bench|scripts)/' | sort -u) || true
if [ -n "$files" ]; then
    # shellcheck disable=SC2086 # one word per file; none has a space in its name
    "$bin/oxfmt" --check $files && "$bin/oxlint" --type-aware $files
fi
"$bin/tsc"
"$bin/bun" scripts/generate.ts --check
"$bin/bun" scripts/terms.ts
"$bin/bun" test test/docs
