#!/bin/sh
# Builds the shim with AddressSanitizer and UndefinedBehaviorSanitizer against an earlier full build (prebuilt/build.sh all
# BUILD_DIR), with a driver that feeds its entry points with mutated texts, and runs it. Then likewise the products of packed
# weights, for every width of vectors that this processor has.
#
#   prebuilt/asan.sh BUILD_DIR [ROUNDS] [SEED]
#
# The rest of llama.cpp stays as it was built: only what happens in our code, and memory of ours that is misused in its, is seen.
# Needs g++ with libasan. Not part of npm test, which has no native build.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
build=$(cd "${1:?name the folder of a full build}" && pwd)
rounds=${2:-2000}
seed=${3:-1}
source=$build/llama.cpp
bin=$build/llama/bin
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

g++ -std=c++17 -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined \
    -fopenmp -DSVC_ABI_HASH='"asan"' -DLLAMA_SHARED -DGGML_SHARED -DGGML_BACKEND_SHARED \
    -isystem "$source/common" -isystem "$source/include" -isystem "$source/ggml/include" -isystem "$source/vendor" \
    -isystem "$source/tools/mtmd" \
    -I "$root/ffi/shim" "$root"/ffi/shim/*.cpp "$here/asan/driver.cpp" -o "$out/driver" \
    -L"$bin" -lmtmd -lllama-common -lllama -lggml -lggml-base "-Wl,-rpath,$bin"

# The back ends keep what they have allocated until the process ends.
ASAN_OPTIONS=detect_leaks=0:exitcode=99 "$out/driver" "$bin" "$root/demo-model/tiny.gguf" "$rounds" "$seed"

for width in "avx2" "avx_vnni -mavxvnni" "avx512_vnni -mavx512f -mavx512cd -mavx512vl -mavx512dq -mavx512bw -mavx512vnni"; do
    grep -qw "${width%% *}" /proc/cpuinfo || continue
    # shellcheck disable=SC2086
    g++ -std=c++17 -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined \
        -fopenmp -DGGML_USE_OPENMP -DGGML_BACKEND_DL -DGGML_BACKEND_SHARED -DGGML_SHARED \
        -mavx2 -mfma -mf16c -mbmi2 $(echo "$width" | cut -s -d' ' -f2-) \
        -isystem "$source/ggml/include" -isystem "$source/ggml/src" -isystem "$source/ggml/src/ggml-cpu" \
        "$here/asan/products.cpp" -o "$out/products" -L"$bin" -lggml-base "-Wl,-rpath,$bin"
    OMP_NUM_THREADS=1 ASAN_OPTIONS=exitcode=99 "$out/products"
done
