#!/usr/bin/env bash
# Measures the back ends for graphics cards on this machine: svc, and llama-server beside it where one is named. Needs a checkout with
# node_modules and ./svc, and no network: models with random weights are made here. Usage and options: bench/gpu.sh --help
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x ./svc ] || { echo "bench/gpu.sh: ./svc is missing: build it with ./install.sh" >&2; exit 1; }
exec node_modules/.bin/bun bench/gpu.ts "$@"
