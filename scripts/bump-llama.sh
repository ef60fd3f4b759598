#!/bin/sh
# Moves the native libraries to another release of llama.cpp and reports what changed.
#
#   scripts/bump-llama.sh VERSION [BUILD_DIR]     VERSION: of the npm package node-llama-cpp, which carries llama.cpp's source
#
# Creates the branch llama-VERSION, pins the release, applies prebuilt/patches (by three-way merge where lines have moved), builds, runs
# the native, zoo and template tests and the bench. Stops at the first patch with conflicts and names it. Results of tests and bench are
# printed and do not stop it; their logs are BUILD_DIR/bump-*.log. Commits nothing: see docs/building.md for what to do with the result.
# About 40 minutes on two cores. SVC_BUMP_SKIP="zoo bench" leaves out stages.
set -eu

version=${1:?usage: scripts/bump-llama.sh VERSION [BUILD_DIR]}
root=$(cd "$(dirname "$0")/.." && pwd)
build=${2:-$root/prebuilt/.build}
packages=$root/prebuilt/source
source=$build/llama.cpp
log=$build/bump-$version.log
bun=$root/node_modules/.bin/bun
cd "$root"

stage() { printf '\n== %s\n' "$*"; }

outcomes=
# NAME COMMAND...: a stage whose failure stops nothing. Prints the last lines of its log.
try() {
    name=$1
    shift
    case " ${SVC_BUMP_SKIP:-} " in *" $name "*)
        outcomes="$outcomes $name:skipped"
        return
        ;;
    esac
    stage "$name"
    result=passed
    "$@" >"$build/bump-$name.log" 2>&1 || result=FAILED
    tail -n 15 "$build/bump-$name.log"
    outcomes="$outcomes $name:$result"
}

# The names of architectures that a source tree knows.
architectures() {
    git -C "$1" show "$2:src/llama-arch.cpp" | sed -n 's/.*{ *LLM_ARCH_[A-Z0-9_]*, *"\([^"]*\)".*/\1/p' | sort -u
}

git diff --quiet HEAD -- prebuilt/source prebuilt/patches || { echo "prebuilt/source or prebuilt/patches has uncommitted changes" >&2; exit 1; }
mkdir -p "$build"

stage "present release"
present=$(sed -n 's/.*"node-llama-cpp": "\(.*\)".*/\1/p' "$packages/package.json")
echo "node-llama-cpp $present"
(cd "$packages" && npm install --no-save --ignore-scripts --omit=optional --no-audit --no-fund --loglevel=error)
bundle=$packages/node_modules/node-llama-cpp/llama/gitRelease.bundle
[ -d "$source" ] || git clone --quiet "$bundle" "$source"
git -C "$source" fetch --quiet "$bundle" HEAD
before=$(git -C "$source" rev-parse FETCH_HEAD)

stage "release $version"
git checkout --quiet -B "llama-$version"
# The lock file names the binaries of all platforms, which are not downloaded here.
(cd "$packages" && npm install --package-lock-only --save-exact "node-llama-cpp@$version" --ignore-scripts --no-audit --no-fund --loglevel=error)
(cd "$packages" && npm install --no-save --ignore-scripts --omit=optional --no-audit --no-fund --loglevel=error)
git -C "$source" fetch --quiet "$bundle" HEAD
after=$(git -C "$source" rev-parse FETCH_HEAD)
git -C "$source" diff --quiet "$before" "$after" && echo "the source of llama.cpp is that of $present"
git -C "$source" diff --shortstat "$before" "$after"
architectures "$source" "$before" >"$build/architectures.before"
architectures "$source" "$after" >"$build/architectures.after"
echo "new architectures: $(comm -13 "$build/architectures.before" "$build/architectures.after" | tr '\n' ' ')"
echo "removed architectures: $(comm -23 "$build/architectures.before" "$build/architectures.after" | tr '\n' ' ')"
for header in include/llama.h ggml/include/ggml.h ggml/include/ggml-backend.h tools/mtmd/mtmd.h common/chat.h common/speculative.h \
    ggml/src/ggml-cpu/traits.h; do
    changed=$(git -C "$source" diff --numstat "$before" "$after" -- "$header")
    [ -z "$changed" ] || echo "changed interface (lines added, removed): $changed"
done

stage "patches"
git -C "$source" checkout --quiet --force "$after"
git -C "$source" clean --quiet -fd
conflicts=
for patch in prebuilt/patches/*.patch; do
    name=$(basename "$patch")
    git -C "$source" add -A && git -C "$source" -c user.name=bump -c user.email=bump@localhost commit --quiet --allow-empty -m "$name"
    if git -C "$source" apply --index "$root/$patch" 2>/dev/null; then
        echo "$name: applies"
    elif git -C "$source" apply --3way "$root/$patch" >"$log" 2>&1; then
        git -C "$source" diff --cached --full-index >"$patch"
        echo "$name: applied by three-way merge and rewritten"
    else
        echo "$name: CONFLICTS"
        sed -n '/error\|conflict/p' "$log" | sed 's/^/    /'
        git -C "$source" reset --quiet --hard
        conflicts="$conflicts $name"
    fi
done
if [ -n "$conflicts" ]; then
    echo "resolve in $source, write the patch again with git diff --full-index, then run this again:$conflicts" >&2
    exit 1
fi

stage "converter"
"$bun" prebuilt/converter.ts "$source"

stage "build"
for what in llama shim; do
    prebuilt/build.sh $what "$build" >"$build/bump-build.log" 2>&1 || {
        grep -a -m 5 -A 3 'error:' "$build/bump-build.log" || tail -n 20 "$build/bump-build.log"
        echo "fix ffi/ or the hooks, then run this again; the log is $build/bump-build.log" >&2
        exit 1
    }
    echo "$what: built"
done

try kernels test/native/run.sh fast "$build"
try native "$bun" test --timeout 60000 test/ffi
try zoo npm run --silent test:zoo
try templates npm run --silent test:templates
try executable npm run --silent build
try bench npm run --silent bench

stage "branch llama-$version; nothing is committed"
echo "stages:$outcomes"
git status --short
