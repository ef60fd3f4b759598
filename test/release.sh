#!/usr/bin/env bash
# A release on an empty Debian: two releases are built from this checkout (the second with a raised version), then installed
# from a folder and over HTTP, asked, upgraded and removed; a service is updated by svc update, with kills in between; the same with the
# .deb; the image's file system is built and started. Needs root on Linux, mmdebstrap, openssl; buildah for the image. Takes some
# minutes; run before every release.
#
#   test/release.sh [script|update|deb|image …]      all unless named
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "SKIPPED: test/release.sh: $*"; exit 0; }
[ "$(uname -s)-$(id -u)" = Linux-0 ] || skip "needs root on Linux"
command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed"

parts=("$@")
[ $# != 0 ] || parts=(script update deb image)
has() { local part; for part in "${parts[@]}"; do [ "$part" = "$1" ] && return 0; done; return 1; }
work=$(mktemp -d /var/tmp/svc-release-XXXXXX)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; umount "$work"/root/home/person/{small,noexec} 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT
say() { printf '\n== release: %s\n' "$*"; }
expect() { # WORDS COMMAND...: the command's output has the words; it is shown
    local words=$1 output code=0
    shift
    output=$("$@" 2>&1) || code=$?
    printf '%s\n' "$output" | tail -25
    grep -qF -- "$words" <<<"$output" || { echo "FAILED: no \"$words\" in the output (exit code $code) of: $*"; exit 1; }
}

root=$work/root
say "an empty Debian with curl and ca-certificates"
# shellcheck disable=SC1091
. /etc/os-release
sources=$(find /etc/apt -name '*.list' -o -name '*.sources')
# shellcheck disable=SC2086
mmdebstrap --quiet --variant=minbase --include=ca-certificates,curl "$VERSION_CODENAME" "$root" $sources
for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do install -D -m 644 "$file" "$root$file"; done
tar -C "$root" -cf "$work/base.tar" . # also the base of the image
chroot "$root" useradd --create-home --shell /bin/sh person
du -sh "$root" | cut -f1

inside() { # USER COMMAND...: with its own processes and mounts, which end with it
    local user=$1 home=/root line
    shift
    [ "$user" = root ] || home=/home/$user
    line=$*
    echo "$user\$ $line"
    # shellcheck disable=SC2016
    env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8 HOME="$home" USER="$user" \
        unshare --mount --pid --fork --kill-child --propagation private sh -c '
            mount --rbind "$0" "$0"
            mount -t proc proc "$0/proc"
            mount --rbind /sys "$0/sys"
            mount --rbind /dev "$0/dev"
            exec chroot --userspec="$1:" "$0" sh -c "cd $2 && $3"' "$root" "$user" "$home" "$line"
}

say "two releases"
openssl ecparam -name prime256v1 -genkey -noout -out "$work/key.pem"
export SVC_SIGNING_KEY=$work/key.pem
[ -x svc ] || ./install.sh
old=$(./svc --version | cut -d' ' -f2)
new=${old%.*}.$((${old##*.} + 1))
scripts/release.sh "$work/old" >"$work/log"
mkdir "$work/tree"
tar -c --exclude=./node_modules --exclude=./svc --exclude=./.git --exclude=./dist . | tar -xC "$work/tree"
ln -s "$PWD/node_modules" "$work/tree/node_modules"
sed -i "s/$old/$new/" "$work/tree"/{package.json,CHANGELOG.md,src/core/version.ts}
(cd "$work/tree" && node_modules/.bin/bun src/build.ts && scripts/release.sh "$work/new" >"$work/log")
ls -l "$work/new"
mv "$work/old" "$work/new" "$root/srv/"
chmod -R go+rX "$root/srv"

node_modules/.bin/bun test/release/serve.ts "$root/srv" "$work/port" &
pids+=($!)
until [ -s "$work/port" ]; do sleep 0.1; done
served=http://127.0.0.1:$(cat "$work/port")

if has script; then
    # shellcheck disable=SC2016
    start='port=$(shuf -i 20000-40000 -n 1); .local/bin/svc serve -m svc-tiny --host 127.0.0.1 --port $port --no-disable-access-log --state sqlite:$HOME/state.sqlite 2>log & until .local/bin/svc ps --port $port >/dev/null 2>&1; do sleep 0.2; done;'

    say "a user: install from a local folder, through a pipe; first answer"
    before=$SECONDS
    expect "installed /home/person/.local/bin/svc" inside person 'cat /srv/old/install.sh | SVC_RELEASE_URL=/srv/old sh'
    expect "Paris" inside person '.local/bin/svc run -m svc-tiny "What is the capital of France?"'
    echo "first answer after $((SECONDS - before)) s"
    inside person 'find .local -type f; gzip -c .local/share/man/man1/svc.1 >/dev/null'

    say "a server with state; a response is stored"
    response=$(inside person "$start curl -s localhost:\$port/v1/responses -H content-type:application/json -d '{\"model\":\"svc-tiny\",\"input\":\"What is the capital of Italy?\"}'; kill \$!; wait" | grep -o '"id":"resp_[^"]*"' | head -1 | cut -d'"' -f4)
    echo "stored: $response"
    [ -n "$response" ] || { cat "$root/home/person/log"; exit 1; }

    say "refused: a changed archive, a changed list, another key, no verifier"
    cp -R "$root/srv/new" "$root/srv/bad"
    printf x >>"$root/srv/bad/svc-$new-linux-x64.tar.gz"
    expect "does not have the SHA-256 sum" inside person 'sh /srv/new/install.sh --release /srv/bad'
    sed -i 's/^./f/' "$root/srv/bad/SHA256SUMS"
    expect "is wrong: nothing was installed" inside person 'sh /srv/new/install.sh --release /srv/bad'
    expect "has no release key" inside person 'sed "/^release_key=/,/END/d; /^release_url=/i release_key=" /srv/new/install.sh >keyless.sh; sh keyless.sh --release /srv/new'
    mv "$root/usr/bin/openssl" "$root/usr/bin/openssl.away"
    expect "openssl or Node.js is needed" inside person 'sh /srv/new/install.sh --release /srv/new'
    mv "$root/usr/bin/openssl.away" "$root/usr/bin/openssl"
    expect "svc $old" inside person '.local/bin/svc --version'

    say "upgrade over HTTP; the stored response is still there"
    address=$served/new
    expect "(was: svc $old)" inside person "curl -fsSL $address/install.sh | SVC_RELEASE_URL=$address sh -s -- --user"
    expect "svc $new" inside person '.local/bin/svc --version'
    expect "Rome" inside person "$start curl -s localhost:\$port/v1/responses/$response; kill \$!; wait"

    say "svc update: back to the old release with permission, then to the new one"
    expect "Use --downgrade" inside person ".local/bin/svc update --release /srv/old"
    expect "is installed in" inside person "SVC_RELEASE_KEY=\$HOME/.local/share/svc/release.pem .local/bin/svc update --release /srv/old --downgrade"
    expect "svc $new is there" inside person ".local/bin/svc update --release $address --check"
    expect "svc $new is installed in" inside person ".local/bin/svc update --release $address"

    say "uninstall: settings, state and downloads stay, nothing else does"
    inside person 'mkdir -p .config/svc .cache/huggingface/hub; echo "[server]" >.config/svc/svc.toml; touch .cache/huggingface/hub/model'
    expect "removed /home/person/.local/bin/svc" inside person 'sh /srv/new/install.sh --uninstall'
    left=$(cd "$root/home/person" && find . -type f ! -name '.bash*' ! -name .profile ! -name 'log' ! -name keyless.sh | sort | tr '\n' ' ')
    echo "left: $left"
    grep -q svc/svc.toml <<<"$left" && ! grep -q '\.local\|cache/svc' <<<"$left"
fi

if has update; then
    say "a service through svc update: refused, killed, without room, to the new release and back"
    rm -rf "$root/home/person"
    install -d -o "$(chroot "$root" id -u person)" -m 755 "$root/home/person"
    install -m 755 test/release/systemctl "$root/usr/local/bin/systemctl"
    install -m 755 test/release/update.sh "$root/srv/update.sh"
    mkdir "$root/home/person"/{small,noexec}
    mount -t tmpfs -o size=64m tmpfs "$root/home/person/small"
    mount -t tmpfs -o size=1g,noexec tmpfs "$root/home/person/noexec"
    inside person "sh /srv/update.sh $served $old $new"
    umount "$root/home/person"/{small,noexec}
fi

if has deb; then
    say "the .deb: install, answer, upgrade, remove, purge"
    expect "name a model in /etc/svc/svc.toml" inside root "dpkg -i /srv/old/svc_*.deb"
    expect "Paris" inside person 'svc run -m svc-tiny "What is the capital of France?"'
    expect "The configuration is valid" inside root 'svc config check /etc/svc/svc.toml'
    inside root 'echo "# mine" >>/etc/svc/svc.toml'
    expect "Unpacking svc ($new) over ($old)" inside root 'DEBIAN_FRONTEND=noninteractive dpkg --force-confold -i /srv/new/svc_*.deb'
    expect "# mine" inside root 'tail -1 /etc/svc/svc.toml'
    expect "Removing svc ($new)" inside root 'dpkg -r svc; test -f /etc/svc/svc.toml'
    expect "Purging configuration" inside root 'dpkg -P svc; test ! -e /etc/svc/svc.toml'
    command -v systemd-analyze >/dev/null && systemd-analyze security --offline=yes packaging/systemd/svc.service | tail -1
fi

if has image; then
    command -v buildah >/dev/null || skip "the image: buildah is not installed"
    say "the image"
    build() { buildah --storage-driver vfs --root "$work/images" --runroot "$work/run" "$@"; }
    base=$(build from scratch)
    build add --quiet "$base" "$work/base.tar" /
    build commit --quiet "$base" svc-base >/dev/null
    build bud --quiet --format docker --isolation chroot --pull-never --build-arg BASE=localhost/svc-base --tag svc -f packaging/Dockerfile "$root/srv/new"
    container=$(build from --pull-never localhost/svc)
    mounted=$(build mount "$container")
    rm -rf "$root"
    root=$mounted
    echo "image: $(du -sm "$mounted" | cut -f1) MiB unpacked, $(build inspect --type image --format '{{.Docker.Config.User}}, health check {{.Docker.Config.Healthcheck.Test}}' svc)"
    du -sm "$mounted"/usr/local/bin/svc "$mounted"/usr | sed 's/^/  MiB: /'
    # shellcheck disable=SC2016
    expect "answered after" inside svc 'start=$(date +%s%N); svc serve --host 127.0.0.1 --port 28471 2>/tmp/log & until svc ps --port 28471; do sleep 0.05; done; svc run -m svc-tiny "What is the capital of France?"; echo "answered after $((($(date +%s%N) - start) / 1000000)) ms as $(id -un)"; command -v bwrap; kill $!; wait'
fi
say "passed: ${parts[*]}"
