#!/bin/sh
# npm's prepare step: points git at these hooks in a development checkout. Does nothing in an exported archive, without git,
# or where another hooks folder is configured.
cd "$(dirname "$0")/../.." || exit 0
[ -e .git ] && command -v git >/dev/null 2>&1 || exit 0
[ -z "$(git config core.hooksPath 2>/dev/null)" ] || exit 0
git config core.hooksPath scripts/hooks 2>/dev/null || exit 0
