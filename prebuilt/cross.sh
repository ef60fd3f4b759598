#!/bin/sh
# Builds the native libraries for another platform on Linux x86-64, into prebuilt/.local/<platform>/:
#
#   prebuilt/cross.sh PLATFORM [all|llama|shim|grammar|speech|image] [BUILD_DIR]
#
# PLATFORM: linux-arm64, linux-x64-musl, windows-x64 or macos-arm64
#
# build.sh does the work and knows nothing of cross compilation: it calls g++, strip and other tools by their plain names. This
# script puts a folder before it in PATH that has the cross tools under these names.
# Needs what build.sh needs, and for linux-arm64 Debian's g++-aarch64-linux-gnu and the Rust standard library for that platform
# (`rustup target add aarch64-unknown-linux-gnu`, or Debian's libstd-rust-web-dev:arm64); for the others zig, which brings their
# C and C++ libraries (`pip install ziglang==0.17.1`; SVC_ZIG names the program). It has no OpenMP: llama.cpp's own threads do.
set -eu

platform=${1:-}
what=${2:-all}
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
zig_target=
case $platform in
linux-arm64) system=Linux machine=aarch64 ;;
linux-x64-musl) system=Linux machine=x86_64 zig_target=x86_64-linux-musl ;;
windows-x64) system=Windows machine=x86_64 zig_target=x86_64-windows-gnu ;;
macos-arm64) system=Darwin machine=arm64 zig_target=aarch64-macos.13.0 ;;
*)
    echo "usage: prebuilt/cross.sh linux-arm64|linux-x64-musl|windows-x64|macos-arm64 [all|llama|shim|grammar|speech|image] [BUILD_DIR]" >&2
    exit 2
    ;;
esac
triple=aarch64-linux-gnu
debian=arm64
case $platform in
linux-arm64) rust_target=aarch64-unknown-linux-gnu ;;
linux-x64-musl) rust_target=x86_64-unknown-linux-musl ;;
windows-x64) rust_target=x86_64-pc-windows-gnu ;;
macos-arm64) rust_target=aarch64-apple-darwin ;;
esac

mkdir -p "${3:-$here/.build-$platform}"
build=$(cd "${3:-$here/.build-$platform}" && pwd)
tools=$build/cross-tools
rm -rf "$tools"
mkdir -p "$tools"

# A command of this machine, called with other arguments or another environment.
shadow() {
    printf '#!/bin/sh\nset -eu\n%s\n' "$2" >"$tools/$1"
    chmod +x "$tools/$1"
}

# LINKER [FLAGS]: cargo for the other platform. It writes to a folder named after the target if one is named; build.sh reads the one without.
cross_cargo() {
    cargo=$(command -v cargo || true)
    [ -z "$cargo" ] || shadow cargo "
[ \"\$1\" = build ] || exec $cargo \"\$@\"
export $(echo "CARGO_TARGET_${rust_target}_LINKER" | tr 'a-z-' 'A-Z_')='$1' RUSTFLAGS=\"\$RUSTFLAGS ${2:-}\"
$cargo \"\$@\" --target $rust_target
cp -r '$build/grammar/$rust_target/release' '$build/grammar/'"
}

debian_tools() {
    for tool in gcc g++ ld strip readelf; do
        path=$(command -v "$triple-$tool") || {
            echo "prebuilt/cross.sh: $triple-$tool is missing; Debian: apt install g++-$triple" >&2
            exit 1
        }
        ln -s "$path" "$tools/$tool"
    done

    cross_cargo $triple-gcc

    # Packages of the other architecture, from lists of their own: the configuration of this machine stays as it is.
    apt=$(command -v apt-get || true)
    [ -z "$apt" ] || shadow apt-get "
mkdir -p '$build/apt/lists/partial'
run() { $apt -qq -o 'Dir::State::Lists=$build/apt/lists' -o APT::Architecture=$debian -o APT::Architectures=$debian \"\$@\"; }
[ -e '$build/apt/updated' ] || { run update && touch '$build/apt/updated'; }
run \"\$@\""
}

zig_tools() {
    zig=$(command -v "${SVC_ZIG:-zig}") || {
        echo "prebuilt/cross.sh: zig is missing: pip install ziglang, and set SVC_ZIG to its file ziglang/zig" >&2
        exit 1
    }
    # musl's threads have small stacks unless a library asks for more, and its loader searches for libraries that are loaded already. zig checks for undefined behaviour unless switched off.
    flags="-target $zig_target -fno-sanitize=undefined -Wno-error=unused-parameter -Wno-unused-command-line-argument -Wno-unknown-pragmas"
    stack=
    [ $platform != linux-x64-musl ] || stack="-Wl,-z,stack-size=8388608 '-Wl,-rpath,\$ORIGIN'"
    # Rust's panics unwind; C++ brings the library for it.
    unwinder=
    [ "$platform" = macos-arm64 ] || unwinder=-lunwind
    # zig links no bundles, CMake's kind of a library that is only opened; macOS opens others as well. It has no processor armv8-a,
    # and arm64 of macOS has no less.
    unbundled='for arg; do shift; case $arg in -march=armv8-a) continue ;; -bundle) arg=-dynamiclib ;; esac; set -- "$@" "$arg"; done'
    shadow gcc "$unbundled
exec $zig cc $flags $stack -s \"\$@\" $unwinder"
    # A DLL of zig exports the C library in it; the DLLs that import the former have their own.
    imports=
    [ "$platform" != windows-x64 ] || imports="
for arg; do case \$arg in -Wl,--out-implib,*)
    file=\${arg#-Wl,--out-implib,}
    [ -f \"\$file\" ] || continue # nothing is exported
    '$root/node_modules/.bin/bun' '$here/import-library.ts' \"\$file\"
    $zig ranlib \"\$file\" ;;
esac; done"
    shadow g++ "[ \"\$*\" != --version ] || { echo \"zig \$($zig version)\"; exit; }
$unbundled
$zig c++ $flags $stack -s \"\$@\"$imports"
    # cargo links the shared library of a dependency, which is of no use: build.sh links the static one. musl: without the C
    # library, which the process has.
    shadow no-linker 'while [ $# -gt 0 ]; do case "$1 ${2:-}" in "-o /"*) : >"$2" ;; esac; shift; done' # rustc tries others too
    crt=
    [ "$platform" != linux-x64-musl ] || crt='-C target-feature=-crt-static'
    cross_cargo "$tools/no-linker" "$crt"
    shadow x86_64-w64-mingw32-dlltool "exec $zig dlltool \"\$@\""
    # Sources of packages, from lists of their own.
    apt=$(command -v apt-get || true)
    [ -z "$apt" ] || shadow apt-get "
mkdir -p '$build/apt/lists/partial' '$build/apt/sources'
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ ! -f \"\$file\" ] || sed 's/^Types:.*/Types: deb-src/;s/^deb /deb-src /' \"\$file\" >\"$build/apt/sources/\${file##*/}\"
done
run() { $apt -qq -o 'Dir::State::Lists=$build/apt/lists' -o Dir::Etc::sourcelist=/dev/null -o 'Dir::Etc::sourceparts=$build/apt/sources' \"\$@\"; }
run update || true # some repositories have no sources
run \"\$@\""
    shadow ld "echo 'ld of zig'"
    shadow strip : # the linker has done it
    for tool in ar ranlib rc; do shadow $tool "exec $zig $tool \"\$@\""; done
    shadow install_name_tool :
}

if [ -n "$zig_target" ]; then zig_tools; else debian_tools; fi
shadow uname "case \"\$*\" in -m) echo $machine ;; *) exec $(command -v uname) \"\$@\" ;; esac"

{
    cat <<CMAKE
set(CMAKE_SYSTEM_NAME $system)
set(CMAKE_SYSTEM_PROCESSOR $machine)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
CMAKE
    if [ -z "$zig_target" ]; then
        printf 'set(CMAKE_%s_COMPILER %s)\n' C $triple-gcc CXX $triple-g++
    else
        printf 'set(CMAKE_%s %s)\n' C_COMPILER "$tools/gcc" CXX_COMPILER "$tools/g++" AR "$tools/ar" RANLIB "$tools/ranlib" \
            RC_COMPILER "$tools/rc" INSTALL_NAME_TOOL "$tools/install_name_tool" FIND_ROOT_PATH "$tools"
    fi
    # After CMake's own, which gives DLLs of GNU compilers the names of Linux.
    if [ $system = Windows ]; then
        echo 'set(CMAKE_SHARED_LIBRARY_PREFIX "")' >"$tools/names.cmake"
        echo "set(CMAKE_PROJECT_INCLUDE $tools/names.cmake)"
    fi
    # Metal and Accelerate need Apple's SDK. Libraries find each other in the folder they are in.
    [ $system != Darwin ] || cat <<CMAKE
set(CMAKE_INSTALL_NAME_DIR @loader_path)
set(CMAKE_BUILD_WITH_INSTALL_NAME_DIR ON)
set(GGML_METAL OFF CACHE BOOL "")
set(GGML_ACCELERATE OFF CACHE BOOL "")
set(GGML_BLAS OFF CACHE BOOL "")
CMAKE
} >"$tools/toolchain.cmake"

PATH=$tools:$PATH CMAKE_TOOLCHAIN_FILE=$tools/toolchain.cmake SVC_PLATFORM=$platform exec "$here/build.sh" "$what" "$build"
