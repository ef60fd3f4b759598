#!/bin/sh
# Builds svc from a source checkout, or takes the binary of a release archive, and installs it where asked; on request it
# also runs as a service of the user, and all of that can be taken away again.
# POSIX sh; needs node and npm for a source checkout and nothing else. Running it again repeats only what has changed.
set -eu

usage() {
  cat <<'TEXT'
Usage: ./install.sh [--user | --prefix DIR] [--service | --uninstall]

Without an option: in a source checkout, builds ./svc and leaves it there; in a
release archive, the same as --user.

  --user         install the binary as ~/.local/bin/svc (also: --install)
  --prefix DIR   install the binary as DIR/bin/svc
  --service      also run it in the background from now on: a systemd unit of
                 the user on Linux, a launchd agent on macOS; it reads its
                 settings from ~/.config/svc/svc.toml
  --uninstall    stop the service, remove it, the binary and what was unpacked;
                 settings and downloaded models stay
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
wants_service=no
wants_uninstall=no

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
    --service) wants_service=yes ;;
    --uninstall) wants_uninstall=yes ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) misused "$1 is not an option" ;;
  esac
  shift
done

[ "$wants_service$wants_uninstall" != yesyes ] || misused '--service and --uninstall exclude each other'

unset CDPATH
cd -- "$(dirname -- "$0")"

# As prebuilt/ names it: linux-x64, darwin-arm64.
platform() {
  os=$(uname -s | tr '[:upper:]' '[:lower:]')
  case $os in
    mingw* | msys* | cygwin*) fail 'Windows is served through WSL: run this in a Linux distribution there' ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) cpu=x64 ;;
    aarch64 | arm64) cpu=arm64 ;;
    *) cpu=$(uname -m) ;;
  esac
  printf '%s\n' "$os-$cpu"
}

check_platform() {
  [ -d "prebuilt/$(platform)" ] || fail "there are no native libraries for $(platform) in prebuilt/; make them with prebuilt/build.sh (see README.md), then run this again"
}

# Which graphics cards the machine has, by their drivers: nothing is started and no package is needed to look. Tests set
# other places for /proc and /dev.
say_cards() {
  cards=''
  [ -e "${SVC_PROC:-/proc}/driver/nvidia/version" ] && cards='NVIDIA (CUDA)'
  [ -e "${SVC_DEV:-/dev}/kfd" ] && cards="${cards:+$cards and }AMD (ROCm or Vulkan)"
  [ "$(platform)" = darwin-arm64 ] && cards='Apple (Metal)'
  [ -n "$cards" ] || return 0
  say "found a graphics card: $cards"
  for library in "prebuilt/$(platform)"/*cuda* "prebuilt/$(platform)"/*vulkan* "prebuilt/$(platform)"/*metal*; do
    [ ! -e "$library" ] || return 0
  done
  say 'this build has no back end for it, so models run on the processor'
}

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

# npm insists on a cache that it can write to; a home folder may be read-only.
install_packages() {
  cache=$(npm config get cache)
  if mkdir -p -- "$cache" 2>/dev/null && [ -w "$cache" ]; then
    quietly npm ci --no-audit --no-fund --loglevel=error
    return 0
  fi
  say "the cache of npm, $cache, is read-only: this takes a temporary one"
  cache=$(mktemp -d)
  quietly npm ci --no-audit --no-fund --loglevel=error --cache "$cache"
  rm -rf -- "$cache"
}

build() {
  check_tools
  if packages_are_current; then
    say 'packages are up to date'
  else
    say 'installing packages (npm ci)'
    install_packages
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

# Settings, service and cache have their places in the home folder whatever the prefix is.
set_places() {
  [ -n "${HOME:-}" ] || fail 'HOME is not set; it is needed for the service'
  config=${XDG_CONFIG_HOME:-$HOME/.config}/svc/svc.toml
  unit=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user/svc.service
  agent=$HOME/Library/LaunchAgents/svc.plist
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/svc
}

# Never replaces settings. The address is this machine's own: a service should not open a port to the network unasked.
write_config() {
  [ ! -e "$config" ] || return 0
  mkdir -p -- "$(dirname -- "$config")" || fail "cannot create $(dirname -- "$config")"
  cat >"$config" <<'TEXT'
# Settings of the svc service; svc.toml.example has a line for each one there is.

[server]
host = "127.0.0.1"
port = 1234
# Serves what coding agents send although the interface refuses it; see docs/clients.md.
compat = "clients"

# [[models]]
# model_id = "Qwen/Qwen3-0.6B-GGUF:Q8_0"
TEXT
  say "wrote $config; name your model there"
}

# systemd gives a meaning to backslashes, quotes and percent signs.
for_systemd() {
  printf '%s' "$1" | sed 's/[\\"]/\\&/g; s/%/%%/g; s/\$/$$/g'
}

write_unit() {
  mkdir -p -- "$(dirname -- "$unit")" || fail "cannot create $(dirname -- "$unit")"
  cat >"$unit" <<TEXT
[Unit]
Description=svc, a server of AI models
After=network.target

[Service]
ExecStart="$(for_systemd "$bin_dir/svc")" serve "$(for_systemd "$config")"
ExecReload=/bin/kill -HUP \$MAINPID
Restart=on-failure
RestartSec=5

[Install]
WantedBy=default.target
TEXT
  say "wrote $unit"
  if ! command -v systemctl >/dev/null 2>&1 || ! systemctl --user show-environment >/dev/null 2>&1; then
    say "systemd does not look after your services here; start it with: \"$bin_dir/svc\" serve \"$config\""
    return
  fi
  systemctl --user daemon-reload
  systemctl --user enable svc.service >/dev/null 2>&1 || fail 'systemd refused the unit; see: systemctl --user status svc'
  systemctl --user restart svc.service || fail 'the service does not start; see: journalctl --user -u svc'
  say 'the service runs; see: systemctl --user status svc'
  say 'it stops when you log out, unless you say: loginctl enable-linger'
}

for_xml() {
  printf '%s' "$1" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'
}

write_agent() {
  mkdir -p -- "$(dirname -- "$agent")" "$HOME/Library/Logs" || fail "cannot create $(dirname -- "$agent")"
  cat >"$agent" <<TEXT
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>svc</string>
  <key>ProgramArguments</key>
  <array>
    <string>$(for_xml "$bin_dir/svc")</string>
    <string>serve</string>
    <string>$(for_xml "$config")</string>
  </array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>StandardErrorPath</key><string>$(for_xml "$HOME/Library/Logs/svc.log")</string>
</dict>
</plist>
TEXT
  say "wrote $agent"
  launchctl bootout "gui/$(id -u)/svc" 2>/dev/null || true
  launchctl bootstrap "gui/$(id -u)" "$agent" || fail 'launchd refused the agent'
  say "the service runs; its log is $HOME/Library/Logs/svc.log"
}

install_service() {
  set_places
  write_config
  case $(platform) in
    darwin-*) write_agent ;;
    *) write_unit ;;
  esac
}

# Only what an installation has made, and a second time nothing.
uninstall() {
  set_places
  if [ -e "$unit" ]; then
    if command -v systemctl >/dev/null 2>&1; then
      systemctl --user disable --now svc.service >/dev/null 2>&1 || true
    fi
    rm -f -- "$unit"
    if command -v systemctl >/dev/null 2>&1; then
      systemctl --user daemon-reload >/dev/null 2>&1 || true
    fi
    say "removed $unit"
  fi
  if [ -e "$agent" ]; then
    launchctl bootout "gui/$(id -u)/svc" 2>/dev/null || true
    rm -f -- "$agent"
    say "removed $agent"
  fi
  for place in "$bin_dir/svc" "$cache"; do
    [ -e "$place" ] || continue
    rm -rf -- "$place" || fail "cannot remove $place"
    say "removed $place"
  done
  [ ! -e "$config" ] || say "kept $config"
  say 'kept downloaded models: the cache of the Hugging Face hub belongs to other tools too'
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

if [ "$wants_uninstall" = yes ]; then
  [ -n "$bin_dir" ] || set_user
  uninstall
  exit 0
fi
if [ "$wants_service" = yes ] && [ -z "$bin_dir" ]; then
  set_user # a service needs a binary that stays
fi
if [ -f package.json ]; then
  check_platform
  build
elif [ -x svc ]; then
  [ -n "$bin_dir" ] || set_user
else
  fail 'neither package.json (a source checkout) nor svc (a release archive) is here'
fi
say_cards
[ -z "$bin_dir" ] || install_binary
if [ "$wants_service" = yes ]; then
  install_service
else
  say_next
fi
