#!/bin/sh
# Builds a back end for graphics cards from the sources of llama.cpp that prebuilt/build.sh has prepared in BUILD_DIR/llama.cpp, with our
# patches. Linux on x86-64. Called by prebuilt/build.sh vulkan|cuda [BUILD_DIR]; the library is prebuilt/.local/backends/libggml-NAME.so:
#
#   svc backend install NAME --from prebuilt/.local/backends/libggml-NAME.so
#
# The compilers are pinned and stay in BUILD_DIR. For vulkan: glslc, the loader and headers of Debian 13 (debian.txt). apt fetches them from
# a list of its own, with the mirror of this machine's Debian sources or SVC_DEBIAN_MIRROR, and nothing is installed; the C and C++
# libraries only run glslc, so any version of them will do. For cuda: nvcc and the libraries of CUDA 13 from NVIDIA's wheels (cuda.txt),
# which pip fetches. An interrupted build goes on when it is started again.
#
# For cuda there is one library for each kind of card, libggml-cuda-sm90.so, and libggml-cuda-ptx.so, which a driver of CUDA 13 compiles for
# any card from 7.5 on; `svc backend install cuda --from FOLDER` takes the one that fits. Each takes half an hour to an hour of two cores.
# What is there already is not built again. SVC_CUDA_PARTS names some (sm75 sm80 sm86 sm89 sm90 sm100 sm120 ptx); SVC_DRY_RUN=1 lists parts,
# flags and sizes, and builds nothing. SVC_CUDA_ARCHITECTURES, such as "86-real;90-real", makes one library, libggml-cuda.so, instead.
set -eu

name=$1
build=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
source=$build/llama.cpp
tools=$build/$name-tools
out=$root/prebuilt/.local/backends

# Packages of debian.txt, unpacked below $tools/root, and glslc with the C library that it was linked for.
get_debian() {
    [ ! -e "$tools/complete" ] || return 0
    mirror=${SVC_DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' | head -n 1)}
    if [ -z "$mirror" ]; then
        echo "build.sh: no mirror of Debian is among this machine's sources: name one in SVC_DEBIAN_MIRROR" >&2
        exit 1
    fi
    rm -rf "$tools"
    mkdir -p "$tools/apt/lists/partial" "$tools/apt/archives/partial" "$tools/root"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" \
        >"$tools/apt/sources.list"
    cat >"$tools/apt.conf" <<END
Dir::Etc::sourcelist "$tools/apt/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$tools/apt/lists";
Dir::Cache "$tools/apt";
APT::Sandbox::User "root";
END
    export APT_CONFIG="$tools/apt.conf"
    apt-get update -qq
    while read -r sum package version; do
        wanted=$package=$version
        [ "$version" != any ] || wanted=$package
        (cd "$tools/apt/archives" && apt-get download -qq "$wanted")
        file=$(echo "$tools/apt/archives/${package}"_*.deb)
        [ "$sum" = any ] || echo "$sum  $file" | sha256sum --check --quiet
        dpkg-deb -x "$file" "$tools/root"
    done <"$here/debian.txt"
    cat >"$tools/glslc" <<END
#!/bin/sh
exec "$tools/root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$tools/root/usr/lib/x86_64-linux-gnu" "$tools/root/usr/bin/glslc" "\$@"
END
    chmod +x "$tools/glslc"
    touch "$tools/complete"
}

# The wheels of cuda.txt, unpacked into one toolkit. Wheels have no symbolic links, and the driver's library is the machine's: the linker
# gets the names without version, and of the driver a library with the functions that are called.
get_wheels() {
    [ ! -e "$tools/complete" ] || return 0
    rm -rf "$tools"
    mkdir -p "$tools/wheels"
    python3 -m pip download --quiet --no-deps --require-hashes --only-binary :all: --dest "$tools/wheels" --requirement "$here/cuda.txt"
    for wheel in "$tools"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$tools"; done
    rm -r "$tools/wheels"
    toolkit=$tools/nvidia/cu13
    chmod +x "$toolkit"/bin/* "$toolkit"/nvvm/bin/*
    for library in cudart cublas cublasLt; do ln -s "lib$library.so.13" "$toolkit/lib/lib$library.so"; done
    ln -s lib "$toolkit/lib64" # where nvcc looks
    mkdir "$toolkit/lib/stubs"
    grep -rhoE '\bcu(Mem|Device|Get|Ctx|Init)[A-Z]?\w*\(' "$source/ggml/src/ggml-cuda" | sort -u |
        sed 's/\(.*\)(/int \1(void) { return 100; }/' >"$tools/driver.c"
    gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$toolkit/lib/stubs/libcuda.so" "$tools/driver.c"
    touch "$tools/complete"
}

# Must match CODE_PARTS in src/backends/card-code.ts.
CUDA_PARTS="sm75 sm80 sm86 sm89 sm90 sm100 sm120 ptx"
# A part is an asset of a release: packed it has at most as many bytes.
PART_BYTES_MAX=67108864

# PART: its value of CMAKE_CUDA_ARCHITECTURES.
architecture_of() {
    case $1 in
    ptx) echo 75-virtual ;;
    *) echo "${1#sm}-real" ;;
    esac
}

launcher=
! command -v ccache >/dev/null || launcher="-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache"

# LIBRARY WORK FLAG…: compiles the back end in the folder WORK into LIBRARY. SVC_CODE: the part, for the mark.
compile() {
    library=$1 work=$2
    shift 2
    release=$(sed -n 's/.*"node-llama-cpp": "\(.*\)".*/\1/p' "$root/prebuilt/source/package.json")
    # Must match markOf() in src/backends/own-build.ts, and codeOf() in card-code.ts.
    cat >"$work-mark.c" <<END
__attribute__((used, visibility("default"))) const char svc_backend_mark[] = "svc back end $name for node-llama-cpp $release";
__attribute__((used, visibility("default"))) const char svc_backend_code[] = "svc back end code ${SVC_CODE:-any}";
END
    map="-ffile-prefix-map=$build=build -ffile-prefix-map=$source=llama.cpp"
    # shellcheck disable=SC2086
    cmake -S "$source" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON $launcher \
        "-DCMAKE_PROJECT_ggml_INCLUDE=$here/mark.cmake" "-DSVC_BACKEND=$name" "-DSVC_MARK=$work-mark.c" \
        -DCMAKE_SKIP_RPATH=ON "-DCMAKE_C_FLAGS=$map" "-DCMAKE_CXX_FLAGS=$map" \
        -DGGML_NATIVE=OFF -DGGML_BACKEND_DL=ON -DGGML_CPU=OFF "$@" \
        -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF \
        -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_COMMON=OFF
    ninja -C "$work" "ggml-$name"
    mkdir -p "$out"
    cp "$work/bin/libggml-$name.so" "$library.part"
    strip --strip-unneeded "$library.part"
    mv "$library.part" "$library"
    sha256sum "$library"
}

# PART FLAG…: builds a part unless it is there, of the same source and flags.
build_part() {
    part=$1 library=$out/libggml-cuda-$1.so
    shift
    inputs=$( (cat "$source.state" 2>/dev/null; echo "$*"; cat "$here/build.sh" "$here/cuda.txt") | sha256sum | cut -c1-16)
    is_there=no
    [ ! -e "$library" ] || [ "$(cat "$library.inputs" 2>/dev/null)" != "$inputs" ] || is_there=yes
    if [ "${SVC_DRY_RUN:-}" = 1 ]; then
        size=-
        [ ! -e "$library" ] || size=$(wc -c <"$library")
        echo "$part present=$is_there bytes=$size $library $*"
        return 0
    fi
    [ "$is_there" = no ] || return 0
    SVC_CODE=$part
    compile "$library" "$build/cuda-$part" "$@"
    packed=$(zstd -19 -q -c "$library" | wc -c)
    if [ "$packed" -gt $PART_BYTES_MAX ]; then
        echo "build.sh: $library has $packed bytes packed, more than $PART_BYTES_MAX" >&2
        exit 1
    fi
    echo "$inputs" >"$library.inputs"
}

case $name in
vulkan)
    get_debian
    usr=$tools/root/usr
    compile "$out/libggml-vulkan.so" "$build/vulkan" -DGGML_VULKAN=ON "-DVulkan_GLSLC_EXECUTABLE=$tools/glslc" \
        "-DVulkan_INCLUDE_DIR=$usr/include" "-DVulkan_LIBRARY=$usr/lib/x86_64-linux-gnu/libvulkan.so.1" \
        "-DSPIRV-Headers_DIR=$usr/share/cmake/SPIRV-Headers"
    ;;
cuda)
    [ "${SVC_DRY_RUN:-}" = 1 ] || get_wheels
    toolkit=$tools/nvidia/cu13
    set -- -DGGML_CUDA=ON "-DCMAKE_CUDA_COMPILER=$toolkit/bin/nvcc" "-DCUDAToolkit_ROOT=$toolkit" \
        "-DCUDA_cuda_driver_LIBRARY=$toolkit/lib/stubs/libcuda.so" -DGGML_CUDA_COMPRESSION_MODE=size
    if [ -n "${SVC_CUDA_ARCHITECTURES:-}" ]; then
        compile "$out/libggml-cuda.so" "$build/cuda" "$@" "-DCMAKE_CUDA_ARCHITECTURES=$SVC_CUDA_ARCHITECTURES"
        exit
    fi
    for part in ${SVC_CUDA_PARTS:-$CUDA_PARTS}; do
        case " $CUDA_PARTS " in
        *" $part "*) build_part "$part" "$@" "-DCMAKE_CUDA_ARCHITECTURES=$(architecture_of "$part")" ;;
        *)
            echo "build.sh: there is no part $part: name some of $CUDA_PARTS in SVC_CUDA_PARTS" >&2
            exit 2
            ;;
        esac
    done
    ;;
esac
