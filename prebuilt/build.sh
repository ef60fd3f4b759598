#!/bin/sh
# Builds the native libraries from source into prebuilt/.local/<platform>/, which git ignores and a development checkout uses
# while its sources are the present ones: llama.cpp from the bundle inside the npm package node-llama-cpp (version
# pinned by prebuilt/source/package-lock.json), our shim from ffi/shim, llguidance with our C ABI from ffi/constraint
# (versions pinned by its Cargo.lock), flite with our C ABI from ffi/speech (Debian's static archives, pinned below),
# stable-diffusion.cpp from a crate that carries its source (version and checksum pinned by
# prebuilt/source/image/Cargo.lock) with our C ABI from ffi/image, over llama.cpp's ggml.
#
#   prebuilt/build.sh [all|llama|shim|grammar|speech|image|vulkan|cuda] [BUILD_DIR]
#
# `llama` rebuilds only llama.cpp, after a change of a patch; `shim` only ours, against the llama.cpp in BUILD_DIR, or else the
# committed one; `grammar` only ours over llguidance; `speech` only ours over flite, which needs apt, or the package in BUILD_DIR/flite, and
# dpkg; `image` only stable-diffusion.cpp and our C ABI, against the llama.cpp as for `shim`. `vulkan` and `cuda` build a back end for
# graphics cards into prebuilt/.local/backends (prebuilt/backends/build.sh); `all` does not.
# SVC_CPU_VARIANTS=OFF builds one CPU variant, for the oldest processors, in a tenth of the time.
# SVC_PLATFORM_DIR names another folder for the archives; prebuilt/<platform> holds the committed ones.
# Needs git, cmake, ninja, g++ >= 12 with OpenMP, cargo >= 1.87, node + npm and this repository's node_modules.
# About 8 minutes on 2 cores, and 5 more for images.
set -eu

what=${1:-all}
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
build=${2:-$here/.build}
platform=${SVC_PLATFORM:-$(uname -s | tr 'A-Z' 'a-z' | sed 's/darwin/macos/')-$(uname -m | sed 's/x86_64/x64/;s/aarch64/arm64/')}
source=$build/llama.cpp
bin=$build/llama/bin
out=$build/out
platform_dir=${SVC_PLATFORM_DIR:-$here/.local/$platform}
diffusion=$build/stable-diffusion.cpp
bun=$root/node_modules/.bin/bun

# A compiler cache makes a second build short. It changes no output.
launcher=
! command -v ccache >/dev/null || launcher="-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache"

# What differs between systems in names and linking of shared libraries.
system_of() {
    lib=lib so=.so openmp=ON
    link="-fPIC -shared -Wl,--no-undefined"
    case $1 in
    windows-*) lib='' so=.dll openmp=OFF link="-shared" ;;
    macos-*) so=.dylib openmp=OFF link="-fPIC -dynamiclib" ;;
    linux-*-musl) openmp=OFF ;;
    esac
}
system_of "$platform"

# FILE…: removes what no loader needs.
strip_libraries() {
    case $platform in
    macos-*) strip -x "$@" ;;
    *) strip --strip-unneeded "$@" ;;
    esac
}

# LIBRARY: the name that others ask for.
shared_name() {
    case $platform in
    windows-*) echo "$1.dll" ;;
    macos-*) echo "lib$1.0.dylib" ;;
    *) readelf -d "$bin/lib$1.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p' ;;
    esac
}

# Must match abiHash() in ffi/generate.ts: the header without comments and white space.
abi_hash() {
    sed 's://.*$::' "$1" | tr -d ' \t\n' | sha256sum | cut -c1-16
}

# Whether the platform is one of Debian's, whose compilers and packages are used. zig builds for others (cross.sh).
is_debian() {
    case $platform in
    linux-*-musl | windows-* | macos-*) return 1 ;;
    esac
}

# LIBRARY HEADER ARGUMENT…: links a C interface, which exports the functions of its header alone. zig exports everything on macOS.
link_interface() {
    own=$1 name=$lib$1$so
    functions=$(sed -n "s/^SVC_API.*[ *]\($1_[a-z_]*\)(.*/\1/p" "$2")
    shift 2
    case $platform in
    windows-*)
        printf 'EXPORTS\n%s\n' "$functions" >"$build/$own.def"
        ${linker:-gcc} -shared -o "$out/$name" "$build/$own.def" "$@"
        ;;
    macos-*)
        echo "$functions" | sed 's/^/_/' >"$build/$own.list"
        ${linker:-gcc} -dynamiclib -o "$out/$name" "-Wl,-install_name,@loader_path/$name" "-Wl,-exported_symbols_list,$build/$own.list" \
            -Wl,-dead_strip "$@"
        ;;
    *)
        printf '{ global: %s_*; local: *; };\n' "$own" >"$build/$own.map"
        ${linker:-gcc} -fPIC -shared -o "$out/$name" "-Wl,-soname,$name" "-Wl,--version-script=$build/$own.map" \
            -Wl,--gc-sections -Wl,--no-undefined "$@"
        ;;
    esac
    strip_libraries "$out/$name"
}

get_source() {
    # Not `npm ci`: it insists on lock entries for every platform's optional binaries, which are not wanted here.
    (cd "$here/source" && npm install --no-save --ignore-scripts --omit=optional --no-audit --no-fund --loglevel=error)
    bundle=$here/source/node_modules/node-llama-cpp/llama/gitRelease.bundle
    state=$(cat "$bundle" "$here"/patches/*.patch | sha256sum)
    if [ "$(cat "$source.state" 2>/dev/null)" != "$state" ]; then # another release or other patches
        [ -d "$source" ] || git clone --quiet "$bundle" "$source"
        git -C "$source" fetch --quiet "$bundle" HEAD
        git -C "$source" checkout --quiet --force FETCH_HEAD
        git -C "$source" clean --quiet -fd
        for patch in "$here"/patches/*.patch; do git -C "$source" apply "$patch"; done
        echo "$state" >"$source.state"
    fi
}

build_llama() {
    get_source
    # GGML_BACKEND_DL + ALL_VARIANTS: the best CPU kernels are picked at run time. OpenMP: its barrier sleeps instead of
    # spinning, which keeps a busy machine usable. No RPATH and no build paths in the files.
    # The last fitting map counts: a build folder below the repository lies under both.
    map="-ffile-prefix-map=$root=svc -ffile-prefix-map=$source=llama.cpp"
    # shellcheck disable=SC2086
    cmake -S "$source" -B "$build/llama" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON $launcher \
        "-DCMAKE_PROJECT_ggml_INCLUDE=$root/ffi/kernels/kernels.cmake" \
        "-DCMAKE_PROJECT_llama.cpp_INCLUDE=$root/ffi/hooks/hooks.cmake" \
        -DCMAKE_SKIP_RPATH=ON "-DCMAKE_C_FLAGS=$map" "-DCMAKE_CXX_FLAGS=$map" \
        -DGGML_NATIVE=OFF -DGGML_BACKEND_DL=ON "-DGGML_CPU_ALL_VARIANTS=${SVC_CPU_VARIANTS:-ON}" -DGGML_OPENMP=$openmp -DGGML_RPC=ON \
        -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF
    variants=$(ninja -C "$build/llama" -t targets all | sed -n 's/^\(ggml-cpu-[a-z0-9]*\):.*/\1/p' | sort -u)
    # shellcheck disable=SC2086
    ninja -C "$build/llama" llama mtmd ggml llama-common ggml-rpc $variants
}

build_shim() {
    get_source
    # Without a build of llama.cpp: the committed one, whose interface is the same.
    [ -e "$bin/${lib}llama$so" ] || "$bun" "$here/unpack.ts" "$platform_dir" llama "$bin"
    name=${lib}svc_llama$so
    case $platform in
    linux-*) link="$link -Wl,-soname,$name" ;;
    macos-*) link="$link -Wl,-install_name,@loader_path/$name" ;;
    esac
    [ $openmp = OFF ] || link="$link -fopenmp"
    # shellcheck disable=SC2086
    g++ -std=c++17 -O3 -fno-math-errno -fno-trapping-math -fvisibility=hidden \
        -Wall -Wextra -Werror "-ffile-prefix-map=$root=svc" "-ffile-prefix-map=$source=llama.cpp" \
        -DSVC_ABI_HASH="\"$(abi_hash "$root/ffi/shim/svc_llama.h")\"" \
        -DLLAMA_SHARED -DGGML_SHARED -DGGML_BACKEND_SHARED \
        -isystem "$source/common" -isystem "$source/include" -isystem "$source/ggml/include" -isystem "$source/vendor" \
        -isystem "$source/tools/mtmd" \
        -I "$root/ffi/kernels" -I "$root/ffi/hooks" "$root"/ffi/shim/*.cpp -o "$out/$name" $link \
        -L"$bin" -lmtmd -lllama-common -lllama -lggml -lggml-base
    strip_libraries "$out/$name"
}

build_grammar() {
    crate=$root/ffi/constraint
    cargo fetch --quiet --locked --manifest-path "$crate/Cargo.toml"
    # Panics name their source file: under a name that says nothing of this machine.
    flags="--remap-path-prefix=$root=svc"
    for dir in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
        flags="$flags --remap-path-prefix=$dir=crates"
    done
    SVC_ABI_HASH=$(abi_hash "$crate/svc_grammar.h") RUSTFLAGS="$flags" \
        cargo build --release --locked --manifest-path "$crate/Cargo.toml" --target-dir "$build/grammar"
    # Linked here, not by cargo: llguidance brings a C ABI of its own, which cargo would export beside ours.
    case $platform in
    windows-*) set -- -lkernel32 -lntdll -luserenv -lws2_32 -ldbghelp ;;
    macos-*) set -- -Wl,-u,_svc_grammar_open ;;
    *) set -- -Wl,-u,svc_grammar_open -lpthread -lm ;;
    esac
    link_interface svc_grammar "$crate/svc_grammar.h" "$build/grammar/release/libsvc_grammar.a" "$@"
    "$bun" "$here/crate-licenses.ts" "$crate" "$here/LICENSES/llguidance-crates.txt"
}

build_image() {
    get_source
    # Without a build of llama.cpp: the committed one, whose interface is the same.
    libraries=$platform_dir
    [ -e "$libraries/manifest.json" ] || libraries=$here/$platform
    [ -e "$bin/${lib}ggml$so" ] || "$bun" "$here/unpack.ts" "$libraries" llama "$bin"
    crate=$here/source/image
    cargo fetch --quiet --locked --manifest-path "$crate/Cargo.toml"
    version=$(sed -n '/^name = "diffusion-rs-sys"/{n;s/version = "\(.*\)"/\1/p}' "$crate/Cargo.lock")
    state=$(cat "$crate/Cargo.lock" "$here"/patches/image/*.patch | sha256sum)
    if [ "$(cat "$diffusion.state" 2>/dev/null)" != "$state" ]; then # another release or other patches
        rm -rf "$diffusion"
        cp -r "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/diffusion-rs-sys-"$version"/stable-diffusion.cpp "$diffusion"
        git -C "$diffusion" init --quiet # the patches apply within it alone, and its build asks git for a version
        for patch in "$here"/patches/image/*.patch; do git -C "$diffusion" apply "$patch"; done
        rm -rf "$diffusion/ggml" # it uses llama.cpp's
        ln -s "$(cd "$source" && pwd)/ggml" "$diffusion/ggml"
        echo "$state" >"$diffusion.state"
    fi
    # C code must let exceptions through: a failed assertion is raised as one (ffi/image).
    map="-ffile-prefix-map=$diffusion=stable-diffusion.cpp"
    # shellcheck disable=SC2086
    cmake -S "$diffusion" -B "$build/image" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON $launcher \
        "-DCMAKE_PROJECT_stable-diffusion_INCLUDE=$crate/ggml.cmake" "-DSVC_GGML=$diffusion/ggml" \
        -DCMAKE_SKIP_RPATH=ON "-DCMAKE_C_FLAGS=$map -fexceptions" \
        "-DCMAKE_CXX_FLAGS=$map -fvisibility=hidden -fvisibility-inlines-hidden" \
        -DSD_BUILD_EXAMPLES=OFF -DSD_WEBP=OFF -DSD_WEBM=OFF -DSD_USE_SYSTEM_GGML=ON
    ninja -C "$build/image" stable-diffusion
    (
        linker=g++
        link_interface svc_image "$root/ffi/image/svc_image.h" -std=c++17 -O3 -fvisibility=hidden -fvisibility-inlines-hidden \
            -Wall -Wextra -Werror "-ffile-prefix-map=$root=svc" -DSVC_ABI_HASH="\"$(abi_hash "$root/ffi/image/svc_image.h")\"" \
            -DGGML_SHARED -DGGML_BACKEND_SHARED -isystem "$diffusion/include" -isystem "$diffusion/ggml/include" \
            -isystem "$diffusion/ggml/src" "$root"/ffi/image/*.cpp "$build/image/libstable-diffusion.a" -L"$bin" -lggml -lggml-base
    )
    cp "$diffusion/LICENSE" "$here/LICENSES/stable-diffusion.cpp.txt"
    cp "$diffusion/thirdparty/LICENSE.darts_clone.txt" "$here/LICENSES/darts-clone.txt"
}

FLITE_VERSION=2.2-5
FLITE_SHA256_x64=78a5d95664cf0a28ea073875f49073539350c791f6c74cc2d7a060f87dac918b
FLITE_SHA256_source=ab1555fe5adc3f99f1d4a1a0eb1596d329fd6d74f1464a0097c81f53c0cf9e5c

# Unpacks Debian's static archives of flite, which were built for programs with sound output: debian.c has what they need.
get_flite() {
    set -- "$flite"/flite1-dev_${FLITE_VERSION}_*.deb
    [ -f "$1" ] || (cd "$flite" && apt-get download "flite1-dev=$FLITE_VERSION")
    set -- "$flite"/flite1-dev_${FLITE_VERSION}_*.deb
    # Of other architectures apt's own check must do.
    [ "$platform" != linux-x64 ] || echo "$FLITE_SHA256_x64  $1" | sha256sum --check --quiet
    dpkg-deb -x "$1" "$flite/root"
    cp "$flite/root/usr/share/doc/flite1-dev/copyright" "$here/LICENSES/flite.txt"
}

# Compiles the same archives, as one, where Debian has none.
compile_flite() {
    tarball=flite_${FLITE_VERSION%-*}.orig.tar.gz
    [ -f "$flite/$tarball" ] || (cd "$flite" && apt-get source --tar-only flite)
    echo "$FLITE_SHA256_source  $flite/$tarball" | sha256sum --check --quiet
    rm -rf "$flite/source" "$flite/objects" "$flite/libflite.a"
    mkdir "$flite/source" "$flite/objects"
    tar -xzf "$flite/$tarball" -C "$flite/source" --strip-components 1
    memory=posix pic=-fPIC
    [ $so != .dll ] || memory=win32 pic=
    (
        cd "$flite/source"
        for file in src/*/*.c lang/usenglish/*.c lang/cmulex/*.c lang/cmu_us_slt/*.c lang/cmu_us_kal16/*.c; do
            case $file in
            */cst_mmap_$memory.c | */cst_file_stdio.c | */au_none.c | */au_streaming.c) ;;
            # For other systems, or included by another file.
            */cst_mmap_* | */cst_file_* | */au_* | */cmu_lex_data_raw.c | */*_num_bytes.c | */*_huff_table.c) continue ;;
            esac
            gcc -O2 $pic -w -fvisibility=hidden -DCST_AUDIO_NONE -DCST_NO_SOCKETS -Dc99_snprintf=snprintf -Iinclude \
                -Ilang/usenglish -Ilang/cmulex -include "$root/ffi/speech/silent.h" \
                -c "$file" -o "$flite/objects/$(echo "${file%.c}" | tr / _).o"
        done
    )
    ar rcs "$flite/libflite.a" "$flite"/objects/*.o
}

build_speech() {
    code=$root/ffi/speech
    flite=$build/flite
    mkdir -p "$flite"
    if is_debian; then
        get_flite
        archives=$(dirname "$(find "$flite/root/usr/lib" -name libflite.a)")
        set -- -isystem "$flite/root/usr/include/flite" "$code/debian.c" "$code/svc_speech.c" -Wl,--start-group \
            "$archives/libflite_cmu_us_slt.a" "$archives/libflite_cmu_us_kal16.a" "$archives/libflite_usenglish.a" \
            "$archives/libflite_cmulex.a" "$archives/libflite.a" -Wl,--end-group
    else
        compile_flite
        set -- -isystem "$flite/source/include" "$code/silent.c" "$code/svc_speech.c" "$flite/libflite.a"
    fi
    link_interface svc_speech "$code/svc_speech.h" -O2 -Wall -Wextra -Werror "-ffile-prefix-map=$root=svc" \
        -DSVC_ABI_HASH="\"$(abi_hash "$code/svc_speech.h")\"" "$@" -lm
}

collect_llama() {
    # Under the names by which they ask for each other.
    for name in ggml-base ggml llama llama-common mtmd; do cp -L "$bin/$lib$name$so" "$out/$(shared_name $name)"; done
    modules=$so
    [ $so != .dylib ] || modules=.so # CMake's name of what is only opened, on macOS too
    cp "$bin/$lib"ggml-cpu*$modules "$bin/${lib}ggml-rpc$modules" "$out/"
    [ $openmp = OFF ] || cp -L "$(g++ -print-file-name=libgomp.so.1)" "$out/libgomp.so.1"
    for file in "$out"/*.*; do strip_libraries "$file"; done
    cp "$source/LICENSE" "$here/LICENSES/llama.cpp.txt"
    for extra in jsonhpp linenoise httplib; do
        if [ -f "$source/licenses/LICENSE-$extra" ]; then
            cp "$source/licenses/LICENSE-$extra" "$here/LICENSES/$extra.txt"
        fi
    done
}

mkdir -p "$build" "$out"
case $what in
all)
    build_llama
    build_shim
    build_grammar
    build_speech
    collect_llama
    build_image
    ;;
llama)
    build_llama
    collect_llama
    ;;
shim) build_shim ;;
grammar) build_grammar ;;
speech) build_speech ;;
image) build_image ;;
vulkan | cuda)
    get_source
    exec "$here/backends/build.sh" "$what" "$(cd "$build" && pwd)"
    ;;
*)
    echo "usage: prebuilt/build.sh [all|llama|shim|grammar|speech|image|vulkan|cuda] [BUILD_DIR]" >&2
    exit 2
    ;;
esac
"$bun" "$here/pack.ts" "$what" "$out" "$platform_dir"
