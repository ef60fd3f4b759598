#!/bin/sh
# Builds svc from a source checkout, or takes the binary of a release archive, and installs it where asked.
# POSIX sh; needs node and npm for a source checkout and nothing else. Running it again repeats only what has changed.
set -eu

usage() {
  cat <<'TEXT'
Usage: ./install.sh [--user | --prefix DIR]

Without an option: in a source checkout, builds ./svc and leaves it there; in a
release archive, the same as --user.

  --user         install the binary as ~/.local/bin/svc (also: --install)
  --prefix DIR   install the binary as DIR/bin/svc
  --help         show this
TEXT
}

say() {
  printf '%s\n' "install.sh: $*"
}

fail() {
  printf '%s\n' "install.sh: $*" >&2
  exit 1
}

misused() {
  printf '%s\n' "install.sh: $*; see ./install.sh --help" >&2
  exit 2
}

bin_dir=''

# A relative prefix starts at the caller's directory, which is left later on.
set_prefix() {
  [ -n "$1" ] || misused '--prefix needs a directory'
  case $1 in
    /*) bin_dir=$1/bin ;;
    *) bin_dir=$(pwd)/$1/bin ;;
  esac
}

set_user() {
  [ -n "${HOME:-}" ] || fail 'HOME is not set; use --prefix DIR'
  bin_dir=$HOME/.local/bin
}

while [ $# -gt 0 ]; do
  case $1 in
    --user | --install) set_user ;;
    --prefix)
      [ $# -ge 2 ] || misused '--prefix needs a directory'
      set_prefix "$2"
      shift
      ;;
    --prefix=*) set_prefix "${1#--prefix=}" ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) misused "$1 is not an option" ;;
  esac
  shift
done

unset CDPATH
cd -- "$(dirname -- "$0")"

check_tools() {
  for tool in node npm; do
    command -v "$tool" >/dev/null 2>&1 || fail "$tool was not found; install Node.js with npm (Debian: apt install nodejs npm) and run this again"
  done
  npm_major=$(npm --version | cut -d. -f1)
  [ "$npm_major" -ge 7 ] || fail "npm $(npm --version) is too old for package-lock.json; version 7 or newer is needed"
}

# True when node_modules holds exactly the locked versions, whoever installed them.
packages_are_current() {
  [ -f node_modules/.package-lock.json ] && [ -x node_modules/.bin/bun ] && node -e '
    const read = (file) => JSON.parse(require("fs").readFileSync(file, "utf8")).packages;
    const have = read("node_modules/.package-lock.json");
    const same = ([path, want]) => have[path] ? have[path].version === want.version : want.optional === true;
    const wanted = Object.entries(read("package-lock.json")).filter(([path]) => path !== "");
    process.exit(wanted.every(same) ? 0 : 1);
  '
}

# Keeps a noisy step quiet unless it fails.
quietly() {
  log=$(mktemp)
  if "$@" >"$log" 2>&1; then
    rm -f "$log"
  else
    cat "$log" >&2
    rm -f "$log"
    fail "this failed: $*"
  fi
}

build() {
  check_tools
  if packages_are_current; then
    say 'packages are up to date'
  else
    say 'installing packages (npm ci)'
    quietly npm ci --no-audit --no-fund --loglevel=error
  fi
  # The bun package puts its executable in place in a script of its own, which a cautious npm may have skipped.
  if ! node_modules/.bin/bun --version >/dev/null 2>&1; then
    say 'completing the bun package'
    quietly node node_modules/bun/install.js
  fi
  say 'building ./svc'
  quietly node_modules/.bin/bun src/build.ts
  [ -x svc ] || fail 'the build ended without an executable ./svc'
}

# Written beside its place and renamed, so that a running svc keeps its file and nobody ever sees half of one.
install_binary() {
  mkdir -p -- "$bin_dir" || fail "cannot create $bin_dir"
  aside=$bin_dir/.svc.$$
  trap 'rm -f -- "$aside"' EXIT
  cp -- svc "$aside" || fail "cannot write to $bin_dir"
  chmod 755 "$aside"
  mv -f -- "$aside" "$bin_dir/svc"
  trap - EXIT
  say "installed $bin_dir/svc"
}

# What to type from now on, as far as a directory on PATH makes it short.
say_next() {
  if [ -z "$bin_dir" ]; then
    say 'done; start it with: ./svc serve'
    return
  fi
  case :${PATH:-}: in
    *":$bin_dir:"*) say 'done; start it with: svc serve' ;;
    *)
      say "$bin_dir is not on PATH; add it with: export PATH=\"$bin_dir:\$PATH\""
      say "done; start it with: \"$bin_dir/svc\" serve"
      ;;
  esac
}

if [ -f package.json ]; then
  build
elif [ -x svc ]; then
  [ -n "$bin_dir" ] || set_user
else
  fail 'neither package.json (a source checkout) nor svc (a release archive) is here'
fi
[ -z "$bin_dir" ] || install_binary
say_next
