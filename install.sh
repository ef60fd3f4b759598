#!/bin/sh
# Installs svc. Three sources, one script:
#   a source checkout (package.json beside this file)   npm packages and a build; needs Node.js with npm
#   an unpacked release archive (svc beside this file)  copies the executable
#   a release address (SVC_RELEASE_URL or --release)    downloads, checks the signature, installs; needs no npm
# POSIX sh. Safe to pipe into sh: nothing runs before the last line has arrived. Repeats only what has changed.
set -eu

# Public half of the key that signs releases, PEM. scripts/release.sh writes key and address into the copy of this script that
# it publishes; a file named by SVC_RELEASE_KEY replaces the key.
release_key=''
release_url=''

usage() {
  cat <<'TEXT'
Usage: install.sh [--user | --prefix DIR] [--release ADDRESS] [--service | --uninstall]

In a source checkout without an option: builds ./svc and leaves it there.
In a release archive, or piped into sh: the same as --user.

  --user             install into ~/.local: bin/svc, man page, completions
                     (also: --install)
  --prefix DIR       install into DIR instead
  --release ADDRESS  install the release of this address (https://...) or local
                     folder (also: SVC_RELEASE_URL). Checks its signature with
                     openssl or Node.js. An older svc is replaced; settings,
                     models and state stay
  --downgrade        let an older release replace a newer svc
  --service          run svc in the background from now on: a systemd unit of
                     the user on Linux, a launchd agent on macOS; it reads its
                     settings from ~/.config/svc/svc.toml
  --uninstall        stop the service; remove it, the executable and its cache;
                     settings and downloaded models stay
  --help             show this
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

prefix=''
wants_service=no
wants_uninstall=no
wants_release=no
wants_downgrade=no
work=''

# A relative path starts at the caller's directory, which is left later on.
absolute() {
  case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s\n' "$(pwd)/$1" ;;
  esac
}

set_prefix() {
  [ -n "$1" ] || misused '--prefix needs a directory'
  prefix=$(absolute "$1")
}

set_user() {
  [ -n "${HOME:-}" ] || fail 'HOME is not set; use --prefix DIR'
  prefix=$HOME/.local
}

set_release() {
  case $1 in
    '') misused '--release needs an address or a folder' ;;
    http://* | https://*) release_url=${1%/} ;;
    file://*) release_url=${1#file://} ;;
    *) release_url=$(absolute "$1") ;;
  esac
}

read_options() {
  while [ $# -gt 0 ]; do
    case $1 in
      --user | --install) set_user ;;
      --prefix)
        [ $# -ge 2 ] || misused '--prefix needs a directory'
        set_prefix "$2"
        shift
        ;;
      --prefix=*) set_prefix "${1#--prefix=}" ;;
      --release)
        [ $# -ge 2 ] || misused '--release needs an address or a folder'
        set_release "$2"
        wants_release=yes
        shift
        ;;
      --release=*)
        set_release "${1#--release=}"
        wants_release=yes
        ;;
      --downgrade) wants_downgrade=yes ;;
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
}

# Name of this platform in prebuilt/ and in releases: linux-x64, darwin-arm64.
platform() {
  os=$(uname -s | tr '[:upper:]' '[:lower:]')
  case $os in
    mingw* | msys* | cygwin*) fail 'Windows needs WSL: run this script in a Linux distribution there' ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) cpu=x64 ;;
    aarch64 | arm64) cpu=arm64 ;;
    *) cpu=$(uname -m) ;;
  esac
  printf '%s\n' "$os-$cpu"
}

check_platform() {
  [ -d "prebuilt/$(platform)" ] || [ -d "prebuilt/.local/$(platform)" ] || fail "there are no native libraries for $(platform) in prebuilt/; build them with prebuilt/build.sh (see docs/building.md), then run this again"
}

# Names the graphics cards by the files of their drivers. Tests set other places for /proc and /dev.
say_cards() {
  cards=''
  [ -e "${SVC_PROC:-/proc}/driver/nvidia/version" ] && cards='NVIDIA (CUDA)'
  [ -e "${SVC_DEV:-/dev}/kfd" ] && cards="${cards:+$cards and }AMD (ROCm or Vulkan)"
  [ "$(platform)" = darwin-arm64 ] && cards='Apple (Metal)'
  [ -n "$cards" ] || return 0
  say "found a graphics card: $cards"
  for library in "$source/prebuilt/$(platform)"/*cuda* "$source/prebuilt/$(platform)"/*vulkan* "$source/prebuilt/$(platform)"/*metal*; do
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

# True when node_modules holds exactly the locked versions, no matter who installed them.
packages_are_current() {
  [ -f node_modules/.package-lock.json ] && [ -x node_modules/.bin/bun ] && node -e '
    const read = (file) => JSON.parse(require("fs").readFileSync(file, "utf8")).packages;
    const have = read("node_modules/.package-lock.json");
    const same = ([path, want]) => have[path] ? have[path].version === want.version : want.optional === true;
    const wanted = Object.entries(read("package-lock.json")).filter(([path]) => path !== "");
    process.exit(wanted.every(same) ? 0 : 1);
  '
}

# Shows the output of a step only when the step fails.
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

# npm needs a writable cache; a home folder may be read-only.
install_packages() {
  cache=$(npm config get cache)
  if mkdir -p -- "$cache" 2>/dev/null && [ -w "$cache" ]; then
    quietly npm ci --no-audit --no-fund --loglevel=error
    return 0
  fi
  say "npm's cache, $cache, is read-only; using a temporary one"
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
  # The bun package unpacks its executable in an install script, which npm skips under ignore-scripts.
  if ! node_modules/.bin/bun --version >/dev/null 2>&1; then
    say 'completing the bun package'
    quietly node node_modules/bun/install.js
  fi
  say 'building ./svc'
  quietly node_modules/.bin/bun src/build.ts
  [ -x svc ] || fail 'the build ended without an executable ./svc'
}

# Copies FILE to DIR/NAME with MODE by a rename: a running svc keeps its file, and a reader never sees half of one.
place() { # FILE DIR NAME MODE
  mkdir -p -- "$2" || fail "cannot create $2"
  for aside in "$2/.$3".*; do # of an installation that was killed
    case ${aside##*.} in
      '' | *[!0-9]*) ;;
      *) kill -0 "${aside##*.}" 2>/dev/null || rm -f -- "$aside" ;;
    esac
  done
  aside=$2/.$3.$$
  cp -- "$1" "$aside" || {
    rm -f -- "$aside"
    fail "cannot write to $2"
  }
  chmod "$4" "$aside"
  mv -f -- "$aside" "$2/$3"
}

# The files of an installation beside the executable: source in a release archive, folder below the prefix, name.
SHARED='man/svc.1 share/man/man1 svc.1
completions/svc.bash share/bash-completion/completions svc
completions/_svc share/zsh/site-functions _svc
completions/svc.fish share/fish/vendor_completions.d svc.fish
release.pem share/svc release.pem
release.url share/svc release.url'

# True when version A comes before version B; one with a suffix (1.0.0-rc1) before the one without.
is_older() { # A B
  awk -v a="$1" -v b="$2" 'BEGIN {
    split(a, A, "-"); split(b, B, "-")
    n = split(A[1], X, "."); m = split(B[1], Y, ".")
    for (i = 1; i <= (n > m ? n : m); i++) if (X[i] + 0 != Y[i] + 0) exit !(X[i] + 0 < Y[i] + 0)
    if (A[2] == B[2]) exit 1
    if (A[2] == "" || B[2] == "") exit !(B[2] == "")
    exit !(A[2] < B[2])
  }'
}

# A signature says who made a release, not that it is the latest: an old one may be offered for its known faults.
refuse_downgrade() {
  [ "$wants_downgrade" = no ] || return 0
  after=$("$source/svc" --version 2>/dev/null </dev/null || true)
  case "$before/$after" in
    'svc '[0-9]*'/svc '[0-9]*) ;;
    *) return 0 ;;
  esac
  if is_older "${after#svc }" "${before#svc }"; then
    fail "$bin_dir/svc is $before and this release is the older $after: nothing was installed. Use --downgrade if that is what you want"
  fi
}

# Where svc update looks: the address that the release itself names, else the one that it came from, unless that holds a password.
note_address() {
  [ -n "$work" ] && [ ! -f "$source/release.url" ] || return 0
  case $release_url in *://*@*) return 0 ;; esac
  printf '%s\n' "$release_url" >"$work/release.url"
  place "$work/release.url" "$prefix/share/svc" release.url 644
}

install_files() {
  bin_dir=$prefix/bin
  before=$("$bin_dir/svc" --version 2>/dev/null </dev/null || true)
  refuse_downgrade
  place "$source/svc" "$bin_dir" svc 755
  printf '%s\n' "$SHARED" | while read -r from folder name; do
    [ ! -f "$source/$from" ] || place "$source/$from" "$prefix/$folder" "$name" 644
  done
  note_address
  say "installed $bin_dir/svc${before:+ (was: $before)}"
}

# --- a release: download, check, unpack ---------------------------------------------------------------------------

download() { # NAME: a file of the release, into the work folder
  case $release_url in
    http://* | https://*)
      if command -v curl >/dev/null 2>&1; then
        curl -fsSL --retry 3 -o "$work/$1" "$release_url/$1" </dev/null || fail "cannot download $release_url/$1; check the address and the network"
      elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$work/$1" "$release_url/$1" </dev/null || fail "cannot download $release_url/$1; check the address and the network"
      else
        fail 'curl or wget is needed to download; install one (Debian: apt install curl ca-certificates) and run this again'
      fi
      ;;
    *) cp -- "$release_url/$1" "$work/$1" || fail "$release_url holds no $1; name the folder of a release" ;;
  esac
}

# A sum from the release's own address proves nothing; the signature of the list of sums does.
check_signature() {
  if [ -n "${SVC_RELEASE_KEY:-}" ]; then
    cp -- "$SVC_RELEASE_KEY" "$work/key.pem" || fail "cannot read SVC_RELEASE_KEY, $SVC_RELEASE_KEY"
  elif [ -n "$release_key" ]; then
    printf '%s\n' "$release_key" >"$work/key.pem"
  else
    fail 'this copy of install.sh has no release key; use the install.sh of the release, or name the public key in SVC_RELEASE_KEY'
  fi
  if command -v openssl >/dev/null 2>&1; then
    openssl dgst -sha256 -verify "$work/key.pem" -signature "$work/SHA256SUMS.sig" "$work/SHA256SUMS" >/dev/null 2>&1 && return 0
  elif command -v node >/dev/null 2>&1; then
    (cd "$work" && node -e '
      const [key, sums, signature] = ["key.pem", "SHA256SUMS", "SHA256SUMS.sig"].map((name) => require("fs").readFileSync(name));
      process.exit(require("crypto").verify("sha256", sums, key, signature) ? 0 : 1);' </dev/null) && return 0
  else
    fail 'openssl or Node.js is needed to check the signature of the release; install one (Debian: apt install openssl) and run this again'
  fi
  fail "the signature of $release_url/SHA256SUMS is wrong: nothing was installed. The files were changed, or another key signed them"
}

sha256() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum <"$1"; else shasum -a 256 <"$1"; fi | cut -d' ' -f1
}

fetch_release() {
  [ -n "$release_url" ] || fail 'there is no package.json (a source checkout) or svc (a release archive) beside this script; name a release: --release ADDRESS or SVC_RELEASE_URL'
  work=$(mktemp -d)
  trap 'rm -rf -- "$work"' EXIT
  trap 'exit 1' HUP INT TERM
  download SHA256SUMS
  download SHA256SUMS.sig
  check_signature
  archive=$(sed -n "s/^[0-9a-f]\{64\}  \(svc-[0-9A-Za-z.+-]*-$(platform)\.tar\.gz\)\$/\1/p" "$work/SHA256SUMS")
  case $archive in
    '') fail "the release has no archive for $(platform); build from a source checkout (docs/building.md)" ;;
    *' '* | *'
'*) fail "$release_url/SHA256SUMS names several archives for $(platform); name the address of one release" ;;
  esac
  say "the signature is good; downloading $archive"
  download "$archive"
  wanted=$(sed -n "s/  $archive\$//p" "$work/SHA256SUMS")
  [ "$(sha256 "$work/$archive")" = "$wanted" ] || fail "$archive does not have the SHA-256 sum of the signed list: nothing was installed. Run this again; the download may be damaged"
  tar -xzf "$work/$archive" -C "$work" </dev/null || fail "cannot unpack $archive into $work"
  source=$work/${archive%.tar.gz}
  [ -x "$source/svc" ] || fail "$archive holds no executable svc"
}

# --- the service ---------------------------------------------------------------------------------------------------

# Settings, service and cache are in the home folder, whatever the prefix is.
set_places() {
  [ -n "${HOME:-}" ] || fail 'HOME is not set; it is needed for the service'
  config=${XDG_CONFIG_HOME:-$HOME/.config}/svc/svc.toml
  unit=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user/svc.service
  agent=$HOME/Library/LaunchAgents/svc.plist
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/svc
}

# Never replaces settings. The service listens on loopback; opening it to the network is the user's decision.
write_config() {
  [ ! -e "$config" ] || return 0
  for template in "$source/packaging/svc.toml" "$source/svc.toml"; do
    [ ! -f "$template" ] || break
  done
  place "$template" "$(dirname -- "$config")" svc.toml 644
  say "wrote $config; name your model in it"
}

# Escapes backslashes, quotes, percent and dollar signs, which systemd expands.
for_systemd() {
  printf '%s' "$1" | sed 's/[\\"]/\\&/g; s/%/%%/g; s/\$/$$/g'
}

write_unit() {
  mkdir -p -- "$(dirname -- "$unit")" || fail "cannot create $(dirname -- "$unit")"
  cat >"$unit" <<TEXT
[Unit]
Description=svc, a server for AI models
Documentation=man:svc(1)
After=network.target

[Service]
ExecStart="$(for_systemd "$bin_dir/svc")" serve "$(for_systemd "$config")"
ExecReload=/bin/kill -HUP \$MAINPID
Restart=on-failure
RestartSec=5
# svc caps the memory of tools by control groups of its own.
Delegate=yes

[Install]
WantedBy=default.target
TEXT
  say "wrote $unit"
  if ! command -v systemctl >/dev/null 2>&1 || ! systemctl --user show-environment >/dev/null 2>&1; then
    say "there is no systemd user session here; start it with: \"$bin_dir/svc\" serve \"$config\""
    return
  fi
  systemctl --user daemon-reload
  systemctl --user enable svc.service >/dev/null 2>&1 || fail 'systemd rejected the unit; see: systemctl --user status svc'
  systemctl --user restart svc.service || fail 'the service did not start; see: journalctl --user -u svc'
  say 'the service runs; see: systemctl --user status svc'
  say 'it stops when you log out; to keep it running: loginctl enable-linger'
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
  launchctl bootstrap "gui/$(id -u)" "$agent" || fail "launchd rejected $agent; see: launchctl print gui/$(id -u)"
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

# Removes only what this script creates. Running it again removes nothing more.
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
  printf '%s\n' "$SHARED" | while read -r from folder name; do
    rm -f -- "$prefix/$folder/$name" || fail "cannot remove $prefix/$folder/$name"
  done
  for path in "$prefix/bin/svc" "$cache"; do
    [ -e "$path" ] || continue
    rm -rf -- "$path" || fail "cannot remove $path"
    say "removed $path"
  done
  [ ! -e "$config" ] || say "kept $config"
  say 'kept downloaded models: other tools share the cache of the Hugging Face hub'
}

# The start command; short when the folder is on PATH.
say_next() {
  if [ -z "$prefix" ]; then
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

# Folder of this script, or nothing when the script comes through a pipe ($0 is then the name of a shell).
script_folder() {
  case $0 in
    *install.sh) ;;
    *) return 0 ;;
  esac
  [ ! -f "$0" ] || (unset CDPATH && cd -- "$(dirname -- "$0")" && pwd)
}

main() {
  [ -z "${SVC_RELEASE_URL:-}" ] || {
    set_release "$SVC_RELEASE_URL"
    wants_release=yes
  }
  read_options "$@"
  source=$(script_folder)
  if [ "$wants_uninstall" = yes ]; then
    [ -n "$prefix" ] || set_user
    uninstall
    return
  fi
  if [ "$wants_release" = no ] && [ -n "$source" ] && [ -f "$source/package.json" ]; then
    cd -- "$source"
    check_platform
    build
    [ "$wants_service" = no ] || [ -n "$prefix" ] || set_user # a service needs an executable that stays
  else
    if [ "$wants_release" = yes ] || [ -z "$source" ] || [ ! -x "$source/svc" ]; then
      fetch_release
    fi
    [ -n "$prefix" ] || set_user
  fi
  say_cards
  [ -z "$prefix" ] || install_files
  if [ "$wants_service" = yes ]; then
    install_service
  else
    say_next
  fi
}

main "$@"
