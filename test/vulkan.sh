#!/usr/bin/env bash
# The tests of the Vulkan back end, on Mesa's software device. Needs Debian's packages and the npm registry; says so and ends
# with 0 where they cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "SKIPPED: test/vulkan.sh: $1"; exit 0; }

if [ ! -e /usr/share/vulkan/icd.d/lvp_icd.x86_64.json ]; then
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "mesa-vulkan-drivers is missing and cannot be installed here"
    timeout 100 apt-get install -y -qq --no-install-recommends mesa-vulkan-drivers libvulkan1 >/dev/null ||
        skip "mesa-vulkan-drivers could not be installed"
fi
# ggml leaves software devices out unless they are chosen. Tests load the library themselves, too.
export GGML_VK_VISIBLE_DEVICES=0 VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json
SVC_VULKAN_TESTS=1 node_modules/.bin/bun test --timeout 180000 test/vulkan
