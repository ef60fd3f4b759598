#!/bin/sh
# Builds and runs the native tests against the shipped libraries, or those of a full build (prebuilt/build.sh all BUILD_DIR).
#
#   test/native/run.sh fast [BUILD_DIR]    patches apply; shim and kernels compile with -Werror and link; property tests of the
#                                          kernels at every vector width of this processor, and for arm64 in an emulator (.ci/run; a
#                                          minute)
#   test/native/run.sh full BUILD_DIR [PART …]
#                                          kernels: the same under AddressSanitizer and UndefinedBehaviorSanitizer, in the emulator
#                                          too; fuzz: the shim's entry points; threads: the shim's threads under ThreadSanitizer;
#                                          style: clang-format and clang-tidy. All parts unless named
#
# Needs what prebuilt/build.sh needs. A part that lacks a program says SKIPPED.
set -eu

mode=${1:-fast}
root=$(cd "$(dirname "$0")/../.." && pwd)
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
build=${2:-$temporary/build}
[ $# -lt 2 ] || shift 2
parts=$* # of the full run
source=$build/llama.cpp
bin=$build/llama/bin

stage() { printf '\n== %s\n' "$*"; }

# NAME COMMAND...: runs the command beside others; its output is printed by all_done.
jobs=
beside() {
    job=$1
    shift
    "$@" >"$temporary/$job.log" 2>&1 &
    jobs="$jobs $job:$!"
}

all_done() {
    failed=
    for job in $jobs; do
        wait "${job#*:}" || failed="$failed ${job%:*}"
        cat "$temporary/${job%:*}.log"
    done
    jobs=
    [ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
}

wants() { # PART
    case " $parts " in "  " | *" $1 "*) ;; *) return 1 ;; esac
}

if [ ! -e "$bin/libggml-base.so" ]; then
    stage "patches apply, the shim compiles and links"
    cp -r "$root/prebuilt/linux-x64" "$temporary/archives" # not into the local build
    SVC_PLATFORM_DIR=$temporary/archives "$root/prebuilt/build.sh" shim "$build"
fi

includes="-isystem $source/common -isystem $source/include -isystem $source/ggml/include -isystem $source/ggml/src
    -isystem $source/ggml/src/ggml-cpu -isystem $source/vendor -isystem $source/tools/mtmd -I $root/ffi/kernels -I $root/ffi/hooks -I $root/ffi/shim"
# g++ 12 reports its own intrinsics as uninitialized.
warnings="-Wall -Wextra -Werror -Wno-uninitialized -Wno-maybe-uninitialized"
base="-mavx2 -mfma -mf16c -mbmi2"

# Name, flag of /proc/cpuinfo and compiler flags of each way in which the kernels are written.
widths() {
    echo "AVX2 avx2 $base"
    echo "AVX-VNNI avx_vnni $base -mavxvnni"
    echo "AVX512-VNNI avx512_vnni $base -mavx512f -mavx512cd -mavx512vl -mavx512dq -mavx512bw -mavx512vnni"
}

# KERNEL FLAGS...: compiles and runs the property test of a kernel.
property_test() {
    test=$1
    shift
    widths | while read -r name flag flags; do
        # shellcheck disable=SC2086
        g++ -std=c++17 -g -fopenmp -DGGML_USE_OPENMP $flags "$@" $warnings $includes "$root/test/native/${test}_test.cpp" \
            -o "$temporary/$test" -L"$bin" -lggml-base -lpthread "-Wl,-rpath,$bin"
        if grep -qw "$flag" /proc/cpuinfo; then
            OMP_NUM_THREADS=1 ASAN_OPTIONS=exitcode=99 "$temporary/$test" >"$temporary/$test.out" || { cat "$temporary/$test.out"; exit 1; }
            cat "$temporary/$test.out"
            # Nodes with fewer rows than others, without rows and without threads change no result.
            [ "$test" != packed_gemm ] || OMP_NUM_THREADS=1 ASAN_OPTIONS=exitcode=99 SVC_MEMORY_NODES=emulated:4 "$temporary/$test" | cmp - "$temporary/$test.out"
            [ "$test" != attention ] || SVC_BATCH_INVARIANT=1 OMP_NUM_THREADS=1 ASAN_OPTIONS=exitcode=99 "$temporary/$test"
        else
            echo "SKIPPED: $test at $name, which this processor lacks (compiled)"
        fi
    done
}

# FLAGS...: those of all kernels, one program at a time each.
property_tests() {
    for kernel in attention packed_gemm rms_norm; do
        beside "$kernel" property_test "$kernel" "$@"
    done
    all_done
}

# FLAGS...: the attention kernel for NEON in an emulator, against the archive of arm64. The sanitizers work there, except for leaks.
arm64_property_tests() {
    for program in aarch64-linux-gnu-g++ qemu-aarch64-static; do
        command -v $program >/dev/null || { echo "SKIPPED: kernels of arm64, which need $program (Debian: g++-aarch64-linux-gnu, qemu-user-static)"; return; }
    done
    "$root/node_modules/.bin/bun" "$root/prebuilt/unpack.ts" "$root/prebuilt/linux-arm64" llama "$temporary/arm64"
    # shellcheck disable=SC2086
    aarch64-linux-gnu-g++ -std=c++17 -g "$@" -march=armv8-a $warnings $includes "$root/test/native/attention_test.cpp" -o "$temporary/attention_arm64" \
        -L"$temporary/arm64" -lggml-base -lpthread "-Wl,-rpath-link,/usr/aarch64-linux-gnu/lib:$temporary/arm64"
    ASAN_OPTIONS=detect_leaks=0:exitcode=99 qemu-aarch64-static -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$temporary/arm64" "$temporary/attention_arm64"
}

# The kernel recurrent in the libraries: in graphs, beside upstream's operations. Compiled here for its warnings only.
recurrent_test() {
    widths | while read -r name flag flags; do
        # shellcheck disable=SC2086
        g++ -std=c++17 -O2 -c $flags $warnings $includes "$root/ffi/kernels/recurrent.cpp" -o "$temporary/recurrent.o"
    done
    # shellcheck disable=SC2086
    g++ -std=c++17 -g -O1 $warnings $includes "$root/test/native/recurrent_test.cpp" -o "$temporary/recurrent" \
        -L"$bin" -lggml -lggml-base -lpthread "-Wl,-rpath,$bin" -Wl,--allow-shlib-undefined
    "$temporary/recurrent" "$bin/libggml-cpu-haswell.so" "$bin/libggml-cpu-icelake.so"
}

# Copies to a device behind each other, in the libraries, beside upstream's.
uploads_test() {
    # shellcheck disable=SC2086
    g++ -std=c++17 -g -O1 $warnings $includes "$root/test/native/uploads_test.cpp" -o "$temporary/uploads" \
        -L"$bin" -lllama -lggml -lggml-base -lpthread "-Wl,-rpath,$bin" -Wl,--allow-shlib-undefined
    for uploads in off all; do SVC_UPLOADS=$uploads "$temporary/uploads" "$bin" "$root/demo-model/tiny.gguf" >"$temporary/uploads.$uploads"; done
    cmp "$temporary/uploads.off" "$temporary/uploads.all"
}

hook_test() { # NAME FLAGS...: a header of ffi/hooks
    name=$1
    shift
    # shellcheck disable=SC2086
    g++ -std=c++17 -g "$@" $warnings $includes -isystem "$source/src" "$root/test/native/${name}_test.cpp" -o "$temporary/$name" \
        -L"$bin" -lggml-base "-Wl,-rpath,$bin"
    "$temporary/$name"
}

if [ "$mode" = fast ]; then
    stage "property tests of the kernels"
    property_tests -O2
    stage "property test of attention on arm64, steps over recurrent states beside upstream's, copies to devices, masks, strings in templates, words of texts"
    beside arm64 arm64_property_tests -O2
    beside recurrent recurrent_test
    beside uploads uploads_test
    beside shared_parts hook_test shared_parts -O1
    beside bpe_words hook_test bpe_words -O1
    beside cell_mask hook_test cell_mask -O1
    all_done
    stage "the drivers of the shim compile"
    for driver in fuzz threads; do
        # shellcheck disable=SC2086
        g++ -std=c++17 -fsyntax-only -fopenmp $warnings $includes "$root/test/native/shim_$driver.cpp"
    done
    exit 0
fi

sanitizers="-O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
if wants kernels; then
    stage "property tests of the kernels under AddressSanitizer and UndefinedBehaviorSanitizer"
    # shellcheck disable=SC2086
    property_tests $sanitizers
    # shellcheck disable=SC2086
    arm64_property_tests $sanitizers
    for hook in shared_parts bpe_words cell_mask; do
        # shellcheck disable=SC2086
        hook_test $hook $sanitizers
    done
fi

shim_program() { # DRIVER OUTPUT FLAGS...: the shim, the code that llama.cpp's hooks call, and a driver as one program
    driver=$1
    output=$2
    shift 2
    # shellcheck disable=SC2086
    g++ -std=c++17 -g "$@" -fopenmp -DSVC_ABI_HASH='"test"' -DLLAMA_SHARED -DGGML_SHARED -DGGML_BACKEND_SHARED $includes \
        "$root"/ffi/shim/*.cpp "$root"/ffi/hooks/*.cpp "$root/test/native/shim_$driver.cpp" -o "$output" \
        -L"$bin" -lmtmd -lllama-common -lllama -lggml -lggml-base "-Wl,-rpath,$bin"
}

if wants fuzz; then
    stage "entry points of the shim, with mutated texts, under the same sanitizers"
    # shellcheck disable=SC2086
    shim_program fuzz "$temporary/shim" $sanitizers
    # The back ends keep what they have allocated until the process ends.
    ASAN_OPTIONS=detect_leaks=0:exitcode=99 "$temporary/shim" "$bin" "$root/demo-model/tiny.gguf" "${SVC_FUZZ_RUNS:-2000}" "${SVC_SEED:-1}"
fi

if wants threads; then
    # One OpenMP thread: ThreadSanitizer does not see the barriers of libgomp. Without address randomization, which it cannot always bear.
    stage "threads of the shim under ThreadSanitizer"
    # Resolvers of function variants run before the sanitizer does.
    shim_program threads "$temporary/threads" -O1 -fsanitize=thread "-Dtarget_clones(...)=unused"
    OMP_NUM_THREADS=1 TSAN_OPTIONS="exitcode=99:suppressions=$root/test/native/tsan.supp" \
        setarch --addr-no-randomize "$temporary/threads" "$bin" "$root/demo-model/tiny.gguf" 600
fi

wants style || exit 0
ours=$(ls "$root"/ffi/shim/*.cpp "$root"/ffi/shim/*.h "$root"/ffi/kernels/*.cpp "$root"/ffi/kernels/*.h "$root"/ffi/hooks/*.cpp "$root"/ffi/hooks/*.h "$root"/test/native/*)
ours=$(printf '%s\n' "$ours" | grep -E '\.(cpp|h)$')
stage "clang-format"
if command -v clang-format >/dev/null; then
    # shellcheck disable=SC2086
    clang-format --dry-run --Werror $ours
else
    echo "SKIPPED: clang-format is missing (Debian: apt install clang-format)"
fi
stage "clang-tidy"
if command -v clang-tidy >/dev/null; then
    mkdir "$temporary/openmp" # g++'s header, without the attributes that clang does not know
    cp "$(g++ -print-file-name=include/omp.h)" "$temporary/openmp/"
    # shellcheck disable=SC2086
    clang-tidy --quiet "$root"/ffi/shim/*.cpp "$root"/ffi/kernels/*.cpp "$root"/ffi/hooks/*.cpp -- -std=c++17 -fopenmp -DGGML_USE_OPENMP -DSVC_ABI_HASH='""' \
        '-D__malloc__(...)=__malloc__' -isystem "$temporary/openmp" $base $includes
else
    echo "SKIPPED: clang-tidy is missing (Debian: apt install clang-tidy)"
fi
