#!/usr/bin/env bash
# Both README commands on a fresh machine: an empty Debian of this machine's release with Node.js and npm alone, a clone of the
# committed state, once as root and once as an ordinary user. Needs root on Linux, git, and mmdebstrap with its packages.
# Takes about half an hour; run before every release.
#
#   test/fresh.sh [root|user …]      both unless named
#
# The system is put together from this machine's package sources, and gets its certificates and npm settings.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "SKIPPED: test/fresh.sh: $*"; exit 0; }
[ "$(uname -s)-$(id -u)" = Linux-0 ] || skip "needs root on Linux"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"

users=("$@")
[ $# != 0 ] || users=(root user)
root=$(mktemp -d /var/tmp/svc-fresh-XXXXXX)
trap 'rm -rf --one-file-system "$root"' EXIT
say() { printf '\n== fresh: %s\n' "$*"; }

say "an empty Debian with nodejs and npm"
# shellcheck disable=SC1091
. /etc/os-release
sources=$(find /etc/apt -name '*.list' -o -name '*.sources')
# shellcheck disable=SC2086
mmdebstrap --quiet --variant=minbase --include=nodejs,npm,ca-certificates "$VERSION_CODENAME" "$root" $sources
for file in /etc/resolv.conf /etc/hosts /etc/npmrc /root/.npmrc /etc/ssl/certs/ca-certificates.crt; do
    [ ! -f "$file" ] || install -D -m 644 "$file" "$root$file"
done
[ ! -f /root/.npmrc ] || install -m 644 /root/.npmrc "$root/etc/skel/.npmrc"
chroot "$root" useradd --create-home --shell /bin/sh person
du -sh "$root" | cut -f1

# The system's own process ids and mounts: they end with the command.
inside() {
    local user=$1 folder=$2 line=$3
    # shellcheck disable=SC2016
    env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8 ${NODE_EXTRA_CA_CERTS:+"NODE_EXTRA_CA_CERTS=$NODE_EXTRA_CA_CERTS"} \
        unshare --mount --pid --fork --kill-child --propagation private sh -c '
            mount --bind "$0" "$0" # as on a real machine, / is a mount
            mount -t proc proc "$0/proc"
            mount --rbind /sys "$0/sys"
            mount --rbind /dev "$0/dev"
            exec chroot --userspec="$1" "$0" sh -c "cd $2 && export HOME=\$(cd .. && pwd) && $3"' \
        "$root" "$user" "$folder" "$line"
}

# Starts the server, waits for it, asks it, ends it.
readonly ASK='
const child = require("child_process").spawn("./svc", ["serve", "--host", "127.0.0.1", "--port", "1234"], { stdio: ["ignore", "inherit", "pipe"] });
child.stderr.on("data", async function listen(chunk) {
  process.stderr.write(chunk);
  if (!String(chunk).includes("listening on")) return;
  const body = { model: "default", temperature: 0, messages: [{ role: "user", content: "What is the capital of France?" }] };
  const answer = await fetch("http://127.0.0.1:1234/v1/chat/completions", {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const text = (await answer.json()).choices[0].message.content;
  console.log("answer:", text);
  child.kill();
  process.exitCode = text.includes("Paris") ? 0 : 1;
});
setTimeout(() => { console.log("no answer in two minutes"); child.kill(); process.exit(1); }, 120000).unref();'

for user in "${users[@]}"; do
    case $user in
    root) name=root home=/root ;;
    user) name=person home=/home/person ;;
    *) echo "test/fresh.sh: root or user, not $user" >&2; exit 2 ;;
    esac
    git clone --quiet . "$root$home/svc"
    printf '%s\n' "$ASK" >"$root$home/ask.cjs"
    chroot "$root" chown -R "$name:" "$home"

    say "$user: ./install.sh && ./svc serve"
    start=$SECONDS
    inside "$name" "$home/svc" './install.sh && node ../ask.cjs'
    echo "ready and answered after $((SECONDS - start)) s"

    say "$user: npm test"
    start=$SECONDS
    inside "$name" "$home/svc" 'npm test' >"$root/log" 2>&1 || { tail -60 "$root/log"; grep -E '^\(fail\)' "$root/log"; exit 1; }
    grep -E '^ *[0-9]+ (pass|skip|fail)$|SKIPPED' "$root/log" | sort | uniq -c
    echo "npm test: $((SECONDS - start)) s"
    rm -rf "$root$home/svc"
done
