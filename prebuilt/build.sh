#!/bin/sh
# Rebuilds prebuilt/<platform>/ from source: llama.cpp from the bundle inside the npm package node-llama-cpp (version
# pinned by prebuilt/source/package-lock.json), our shim from ffi/shim.
#
#   prebuilt/build.sh [all|shim] [BUILD_DIR]      `shim` rebuilds only ours against an earlier full build in BUILD_DIR
#
# Needs git, cmake, ninja, g++ >= 12 with OpenMP, node + npm and this repository's node_modules. About 6 minutes on 2 cores.
set -eu

what=${1:-all}
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
build=${2:-$here/.build}
platform=$(uname -s | tr 'A-Z' 'a-z')-$(uname -m | sed 's/x86_64/x64/;s/aarch64/arm64/')
source=$build/llama.cpp
bin=$build/llama/bin
out=$build/out
bun=$root/node_modules/.bin/bun

mkdir -p "$build" "$out"

if [ "$what" = all ]; then
    # Not `npm ci`: it insists on lock entries for every platform's optional binaries, which are not wanted here.
    (cd "$here/source" && npm install --no-save --ignore-scripts --omit=optional --no-audit --no-fund --loglevel=error)
    [ -d "$source" ] || git clone --quiet "$here/source/node_modules/node-llama-cpp/llama/gitRelease.bundle" "$source"
    # GGML_BACKEND_DL + ALL_VARIANTS: the best CPU kernels are picked at run time. OpenMP: its barrier sleeps instead of
    # spinning, which keeps a busy machine usable. No RPATH and no build paths in the files.
    map="-ffile-prefix-map=$source=llama.cpp"
    cmake -S "$source" -B "$build/llama" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
        -DCMAKE_SKIP_RPATH=ON "-DCMAKE_C_FLAGS=$map" "-DCMAKE_CXX_FLAGS=$map" \
        -DGGML_NATIVE=OFF -DGGML_BACKEND_DL=ON -DGGML_CPU_ALL_VARIANTS=ON -DGGML_OPENMP=ON -DGGML_RPC=ON \
        -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF
    variants=$(ninja -C "$build/llama" -t targets all | sed -n 's/^\(ggml-cpu-[a-z0-9]*\):.*/\1/p' | sort -u)
    # shellcheck disable=SC2086
    ninja -C "$build/llama" llama mtmd ggml llama-common ggml-rpc $variants
fi

# Must match abiHash() in ffi/generate.ts: the header without comments and white space.
abi=$(sed 's://.*$::' "$root/ffi/shim/svc_llama.h" | tr -d ' \t\n' | sha256sum | cut -c1-16)
g++ -std=c++17 -O3 -fno-math-errno -fno-trapping-math -fopenmp -fPIC -shared -fvisibility=hidden -Wall -Wextra -Werror \
    "-ffile-prefix-map=$root=svc" -DSVC_ABI_HASH="\"$abi\"" -DLLAMA_SHARED -DGGML_SHARED -DGGML_BACKEND_SHARED \
    -isystem "$source/common" -isystem "$source/include" -isystem "$source/ggml/include" -isystem "$source/vendor" \
    "$root"/ffi/shim/*.cpp -o "$out/libsvc_llama.so" -Wl,-soname,libsvc_llama.so -Wl,--no-undefined \
    -L"$bin" -lllama-common -lllama -lggml -lggml-base
strip --strip-unneeded "$out/libsvc_llama.so"

if [ "$what" = all ]; then
    # Under their SONAMEs, so that the loader finds each by the name the others ask for.
    for lib in ggml-base ggml llama llama-common mtmd; do
        soname=$(readelf -d "$bin/lib$lib.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
        cp -L "$bin/lib$lib.so" "$out/$soname"
    done
    cp "$bin"/libggml-cpu-*.so "$bin/libggml-rpc.so" "$out/"
    cp -L "$(g++ -print-file-name=libgomp.so.1)" "$out/libgomp.so.1"
    for file in "$out"/*; do strip --strip-unneeded "$file"; done
    cp "$source/LICENSE" "$here/LICENSES/llama.cpp.txt"
    for extra in jsonhpp linenoise httplib; do
        [ -f "$source/licenses/LICENSE-$extra" ] && cp "$source/licenses/LICENSE-$extra" "$here/LICENSES/$extra.txt"
    done
fi

"$bun" "$here/pack.ts" "$what" "$out" "$here/$platform" "$abi"
