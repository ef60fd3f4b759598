#!/bin/sh
# Moves the native libraries to another release of llama.cpp and reports what changed.
#
#   scripts/bump-llama.sh VERSION [BUILD_DIR]     VERSION: of the npm package node-llama-cpp, which carries llama.cpp's source
#
# Creates the branch llama-VERSION, pins the release, lists new architectures and changed interfaces, applies prebuilt/patches (by
# three-way merge where lines have moved), builds, runs the native, zoo and template tests and the bench. Stops after patches with
# conflicts, the first of which it leaves in BUILD_DIR/llama.cpp to be resolved, and after compile errors; run it again, on that branch,
# once they are fixed. Results of tests and bench are printed and do not stop it; their logs are BUILD_DIR/bump-*.log. Commits nothing: see
# docs/building.md for what to do with the result. About 40 minutes on two cores. SVC_BUMP_SKIP="zoo bench" leaves out stages,
# SVC_BUMP_ZOO and SVC_BUMP_BENCH are arguments of these two.
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

# Minutes since the time $1.
minutes() { echo "$(((($(date +%s) - $1) + 30) / 60)) min"; }

outcomes=
# NAME COMMAND...: a stage whose failure stops nothing. Prints the last lines of its log.
try() {
    name=$1
    shift
    case " ${SVC_BUMP_SKIP:-} " in *" $name "*)
        outcomes="$outcomes $name:skipped;"
        return
        ;;
    esac
    stage "$name"
    result=passed
    began=$(date +%s)
    "$@" >"$build/bump-$name.log" 2>&1 || result=FAILED
    tail -n 15 "$build/bump-$name.log"
    outcomes="$outcomes $name:$result, $(minutes "$began");"
}

# The names of architectures that a source tree knows.
architectures() {
    git -C "$1" show "$2:src/llama-arch.cpp" | sed -n 's/.*{ *LLM_ARCH_[A-Z0-9_]*, *"\([^"]*\)".*/\1/p' | sort -u
}

without_comments() { sed 's:/\*[^*]*\*/::g; s://.*::'; }

# All names in the headers of list $build/headers, without their comments.
names() {
    while read -r header; do git -C "$source" show "$1:$header" 2>/dev/null | without_comments; done <"$build/headers" |
        grep -oE '[A-Za-z_][A-Za-z0-9_]+' | sort -u
}

# Headers of llama.cpp that our code includes and that differ; names that they have lost and our code has.
changed_interfaces() {
    ours="ffi/shim/* ffi/hooks/* ffi/kernels/*"
    # shellcheck disable=SC2086
    included=$(sed -n 's:^#include ["<]\(.*/\)*\(.*\)[">]:\2:p' $ours | sort -u)
    git -C "$source" ls-tree -r --name-only "$before" common ggml/include ggml/src/ggml-cpu include src tools/mtmd vendor >"$build/files"
    for header in $included; do grep -E "(^|/)$header\$" "$build/files" || true; done >"$build/headers"
    # shellcheck disable=SC2046
    git -C "$source" diff --numstat "$before" "$after" -- $(cat "$build/headers") |
        while read -r added removed header; do echo "$header: $added lines added, $removed removed"; done
    names "$before" >"$build/names.before"
    names "$after" >"$build/names.after"
    comm -23 "$build/names.before" "$build/names.after" >"$build/names.lost"
    for file in $ours; do
        without_comments <"$file" | grep -owFf "$build/names.lost" | sort -u | sed "s:.*:no header has & any more, which is a name in $file:"
    done
}

branch=llama-$version
if [ "$(git branch --show-current)" != "$branch" ]; then
    git diff --quiet HEAD -- prebuilt/source prebuilt/patches || { echo "prebuilt/source or prebuilt/patches has uncommitted changes" >&2; exit 1; }
fi
mkdir -p "$build"

# PACKAGE_ARGUMENTS...: installs into prebuilt/source and fetches the release's source.
install() {
    # The lock file names the binaries of all platforms, which are not downloaded here.
    [ $# = 0 ] || (cd "$packages" && npm install --package-lock-only --save-exact "$@" --ignore-scripts --no-audit --no-fund --loglevel=error)
    (cd "$packages" && npm install --no-save --ignore-scripts --omit=optional --no-audit --no-fund --loglevel=error)
    [ -d "$source" ] || git -c advice.detachedHead=false clone --quiet "$bundle" "$source"
    git -C "$source" fetch --quiet "$bundle" HEAD
}

stage "present release"
present=$(git show HEAD:prebuilt/source/package.json | sed -n 's/.*"node-llama-cpp": "\(.*\)".*/\1/p')
echo "node-llama-cpp $present"
bundle=$packages/node_modules/node-llama-cpp/llama/gitRelease.bundle
if git diff --quiet HEAD -- prebuilt/source; then
    install
    git -C "$source" update-ref refs/bump/before FETCH_HEAD
fi
before=$(git -C "$source" rev-parse refs/bump/before)

stage "release $version"
[ "$(git branch --show-current)" = "$branch" ] || git checkout --quiet -b "$branch"
install "node-llama-cpp@$version"
after=$(git -C "$source" rev-parse FETCH_HEAD)
git -C "$source" diff --quiet "$before" "$after" && echo "the source of llama.cpp is that of $present"
git -C "$source" diff --shortstat "$before" "$after"
architectures "$source" "$before" >"$build/architectures.before"
architectures "$source" "$after" >"$build/architectures.after"
echo "new architectures: $(comm -13 "$build/architectures.before" "$build/architectures.after" | tr '\n' ' ')"
echo "removed architectures: $(comm -23 "$build/architectures.before" "$build/architectures.after" | tr '\n' ' ')"

stage "interfaces that ffi/ uses"
changed_interfaces

stage "patches"
git -C "$source" checkout --quiet --force "$after"
git -C "$source" clean --quiet -fd
conflicts=
# Prints file and line of each conflict of $patch and the lines that cannot be merged; $source has the conflicts then.
where_conflicts() {
    if ! git -C "$source" grep -q '^<<<<<<<'; then # upstream's old file is not at hand: hunks that fit are applied
        git -C "$source" apply --reject "$root/$patch" 2>&1 | sed -n 's/^error: patch failed: /    /p'
        return
    fi
    git -C "$source" grep -n '^<<<<<<<' | sed 's/:<<<<.*//; s/^/    /'
    git -C "$source" diff | sed -n '/^++<<<<<<</,/^++>>>>>>>/s/^/        /p' | head -n 40
}
# PATCH: with the names of the present release's files, without which nothing can be merged, if it has none.
with_blobs() {
    if grep -q '^index ' "$1"; then
        cat "$1"
        return
    fi
    (
        GIT_INDEX_FILE=$(cd "$build" && pwd)/bump.index
        export GIT_INDEX_FILE
        git -C "$source" read-tree "$before"
        git -C "$source" apply --cached "$root/$1" && git -C "$source" diff --cached --full-index "$before"
    )
}
for patch in prebuilt/patches/*.patch; do
    name=$(basename "$patch")
    git -C "$source" add -A && git -C "$source" -c user.name=bump -c user.email=bump@localhost commit --quiet --allow-empty -m "$name"
    if git -C "$source" apply --index "$root/$patch" 2>/dev/null; then
        echo "$name: applies"
    elif with_blobs "$patch" | git -C "$source" apply --3way >"$log" 2>&1; then
        git -C "$source" diff --cached --full-index >"$patch"
        echo "$name: applied by three-way merge and rewritten"
    else
        echo "$name: CONFLICTS"
        where_conflicts
        git -C "$source" reset --quiet --hard
        git -C "$source" clean --quiet -fd
        conflicts="$conflicts $name"
    fi
done
if [ -n "$conflicts" ]; then
    name=${conflicts# }
    name=${name%% *}
    patch=prebuilt/patches/$name
    with_blobs "$patch" | git -C "$source" apply --3way 2>/dev/null || where_conflicts >/dev/null
    cat >&2 <<TEXT
to resolve:$conflicts
$source has $name with the conflicts above: edit the files there, then

    git -C $source add -A -- ':!*.rej'
    git -C $source diff --cached --full-index -U2 >prebuilt/patches/$name
    scripts/bump-llama.sh $version $build
TEXT
    exit 1
fi

stage "converter"
"$bun" prebuilt/converter.ts "$source"

stage "build"
for what in llama shim image; do
    began=$(date +%s)
    prebuilt/build.sh $what "$build" >"$build/bump-build.log" 2>&1 || {
        grep -a -m 5 -A 3 'error:' "$build/bump-build.log" || tail -n 20 "$build/bump-build.log"
        echo "fix ffi/ or the hooks, then run this again; the log is $build/bump-build.log" >&2
        exit 1
    }
    echo "$what: built, $(minutes "$began")"
done

try kernels test/native/run.sh fast "$build"
try native "$bun" test --timeout 60000 test/ffi
# shellcheck disable=SC2086
try zoo npm run --silent test:zoo -- ${SVC_BUMP_ZOO:-}
try templates npm run --silent test:templates
try executable npm run --silent build
# shellcheck disable=SC2086
try bench npm run --silent bench -- ${SVC_BUMP_BENCH:-}

stage "branch llama-$version; nothing is committed"
echo "stages:$outcomes"
git status --short
