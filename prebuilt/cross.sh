#!/bin/sh
# Builds the native libraries for another platform on Linux x86-64, into prebuilt/.local/<platform>/:
#
#   prebuilt/cross.sh linux-arm64 [all|llama|shim|grammar|speech|image|image-shim] [BUILD_DIR]
#
# build.sh does the work and knows nothing of cross compilation: it calls g++, strip and other tools by their plain names. This
# script puts a folder before it in PATH that has the cross tools under these names.
# Needs what build.sh needs, Debian's g++-aarch64-linux-gnu, and the Rust standard library for that platform
# (`rustup target add aarch64-unknown-linux-gnu`, or Debian's libstd-rust-web-dev:arm64).
set -eu

platform=${1:-}
what=${2:-all}
here=$(cd "$(dirname "$0")" && pwd)
[ "$platform" = linux-arm64 ] || {
    echo "usage: prebuilt/cross.sh linux-arm64 [all|llama|shim|grammar|speech|image|image-shim] [BUILD_DIR]" >&2
    exit 2
}
triple=aarch64-linux-gnu
machine=aarch64
debian=arm64
rust_target=aarch64-unknown-linux-gnu

mkdir -p "${3:-$here/.build-$platform}"
build=$(cd "${3:-$here/.build-$platform}" && pwd)
tools=$build/cross-tools
rm -rf "$tools"
mkdir -p "$tools"

for tool in gcc g++ ld strip readelf; do
    path=$(command -v "$triple-$tool") || {
        echo "prebuilt/cross.sh: $triple-$tool is missing; Debian: apt install g++-$triple" >&2
        exit 1
    }
    ln -s "$path" "$tools/$tool"
done

# A command of this machine, called with other arguments or another environment.
shadow() {
    printf '#!/bin/sh\nset -eu\n%s\n' "$2" >"$tools/$1"
    chmod +x "$tools/$1"
}

shadow uname "case \"\$*\" in -m) echo $machine ;; *) exec $(command -v uname) \"\$@\" ;; esac"

# Cargo writes to a folder named after the target if one is named; build.sh reads the one without.
cargo=$(command -v cargo || true)
[ -z "$cargo" ] || shadow cargo "
[ \"\$1\" = build ] || exec $cargo \"\$@\"
CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$triple-gcc $cargo \"\$@\" --target $rust_target
cp -r '$build/grammar/$rust_target/release' '$build/grammar/'"

# Packages of the other architecture, from lists of their own: the configuration of this machine stays as it is.
apt=$(command -v apt-get || true)
[ -z "$apt" ] || shadow apt-get "
mkdir -p '$build/apt/lists/partial'
run() { $apt -qq -o 'Dir::State::Lists=$build/apt/lists' -o APT::Architecture=$debian -o APT::Architectures=$debian \"\$@\"; }
[ -e '$build/apt/updated' ] || { run update && touch '$build/apt/updated'; }
run \"\$@\""

cat >"$tools/toolchain.cmake" <<CMAKE
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $machine)
set(CMAKE_C_COMPILER $triple-gcc)
set(CMAKE_CXX_COMPILER $triple-g++)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
CMAKE

PATH=$tools:$PATH CMAKE_TOOLCHAIN_FILE=$tools/toolchain.cmake exec "$here/build.sh" "$what" "$build"
