#!/bin/sh
# Rebuilds native libraries and compares them, file by file, with the committed ones. `shim` takes a minute.
#
#   prebuilt/verify.sh [all|llama|shim|grammar|speech|image] [BUILD_DIR]
#
# The same sources make the same bytes with the same toolchain, which manifest.json names; with another one only that they
# compile is shown. What it needs: prebuilt/build.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
what=${1:-all}
platform=$(uname -s | tr 'A-Z' 'a-z')-$(uname -m | sed 's/x86_64/x64/;s/aarch64/arm64/')
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
build=${2:-$temporary/build}
cp -r "$here/$platform" "$temporary/$platform"
SVC_PLATFORM_DIR=$temporary/$platform "$here/build.sh" "$what" "$build"
"$here/../node_modules/.bin/bun" "$here/compare.ts" "$here/$platform/manifest.json" "$temporary/$platform/manifest.json"
