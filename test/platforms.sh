#!/usr/bin/env bash
# The executable on processors that this machine lacks, emulated by qemu's user mode: end-to-end tests of the API with the
# executable of linux-arm64, and a question to the one of linux-x64 on a processor without AVX. What the emulator lacks, such as
# seccomp filters and Landlock, is not tested. Run ./install.sh first. Some minutes.
#
#   test/platforms.sh [TEST …]      test files for arm64 instead of the usual ones
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "SKIPPED: test/platforms.sh: $*"; exit 0; }
[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || skip "needs Linux on x86-64"
for program in qemu-aarch64-static qemu-x86_64-static; do
    command -v "$program" >/dev/null || skip "$program is not installed (Debian: qemu-user-static)"
done
libraries=/usr/aarch64-linux-gnu
[ -e $libraries/lib/libstdc++.so.6 ] || skip "$libraries is missing (Debian: libstdc++6-arm64-cross)"
# A registration in a user namespace ends with it and changes nothing for others (Linux 6.7).
unshare --user --map-root-user --mount mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null ||
    skip "cannot register an emulator: this kernel has no binfmt_misc in user namespaces"
[ -x svc ] || { echo "test/platforms.sh: run ./install.sh first" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp svc "$work/svc.sse42" # processors are told apart by this ending
node_modules/.bin/bun src/build.ts --platform linux-arm64 "$work/svc"

emulator() { # NAME COMMAND...: an interpreter for executables; the kernel appends their path and arguments
    printf '#!/bin/sh\nexec %s "$@"\n' "${*:2}" >"$work/$1"
    chmod +x "$work/$1"
}
emulator arm64 "$(command -v qemu-aarch64-static) -L $libraries"
emulator sse42 "$(command -v qemu-x86_64-static) -cpu Nehalem"

cat >"$work/emulated" <<EMULATED
set -eu
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
elf='\\\\x7fELF\\\\x02\\\\x01\\\\x01\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x02\\\\x00\\\\xb7\\\\x00'
mask='\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\x00\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xfe\\\\xff\\\\xff\\\\xff'
printf ":arm64:M::\$elf:\$mask:$work/arm64:" >/proc/sys/fs/binfmt_misc/register
printf ':sse42:E::sse42::$work/sse42:' >/proc/sys/fs/binfmt_misc/register
exec "\$@"
EMULATED
emulated() { unshare --user --map-root-user --mount sh "$work/emulated" "$@"; }

export XDG_CACHE_HOME=$work/cache
for executable in svc.sse42 svc; do
    echo "== platforms: $executable, $(file --brief "$work/$executable" | cut -d, -f2)"
    answer=$(emulated "$work/$executable" run -m svc-tiny "What is the capital of France?" </dev/null)
    [ "$answer" = "The capital of France is Paris." ] || { echo "FAILED: $executable answers: $answer"; exit 1; }
    state=$(emulated "$work/$executable" doctor | grep -E 'engine|cpu|kernels|sandbox' || true)
    echo "$state"
    [ $executable = svc.sse42 ] || grep -q attention <<<"$state" || { echo "FAILED: $executable does not use the attention kernel"; exit 1; }
done

tests=("$@")
[ $# != 0 ] || tests=(test/e2e/{text,streams,schemas,messages,ollama,speech,state}.test.ts)
echo "SKIPPED: prefill_share: with a half of an emulated processor a prompt takes longer than the client waits"
SVC_TEST_PATIENCE=10 SVC_BINARY=$work/svc emulated node_modules/.bin/bun test --timeout 600000 -t '^(?!prefill_share)' "${tests[@]}"
