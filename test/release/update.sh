#!/bin/sh
# Runs as an ordinary user of an empty system: a service of an old release is updated through `svc update`, whatever comes between.
#   update.sh ADDRESS OLD NEW      ADDRESS (test/release/serve.ts) has old/, new/, and new/ spoiled: forged/, cut/, stalled/, slow/
# test/release.sh copies it there, with test/release/systemctl, and has mounted ~/small (64 MB) and ~/noexec.
set -eu
address=$1 old=$2 new=$3
svc=$HOME/.local/bin/svc

expect() { # WORDS COMMAND...: the output has the words
    words=$1
    shift
    echo "\$ $*"
    output=$("$@" 2>&1) || true
    printf '%s\n' "$output" | tail -8
    case $output in *"$words"*) return ;; esac
    echo "FAILED: no \"$words\""
    exit 1
}
served() { # VERSION: what the service that runs is
    tries=0
    until version=$(curl -fs "http://127.0.0.1:$port/api/version"); do
        [ $((tries += 1)) -lt 300 ] || { tail -5 svc.log; exit 1; }
        sleep 0.1
    done
    case $version in *"\"$1\""*) ;; *) echo "FAILED: the service is $version, not $1" && exit 1 ;; esac
}
works() { # VERSION: the executable, whole
    expect "svc $1" "$svc" --version
    expect Paris "$svc" run -m svc-tiny 'What is the capital of France?'
}
back() { "$svc" update --release "$address/old" --downgrade --no-restart >/dev/null; }
clean() { # nothing is left of attempts
    left=$(find "$HOME/.local" "$TMPDIR" -name '.svc*' -o -name '.svc-run-*')
    [ -z "$left" ] || { echo "FAILED: left: $left" && exit 1; }
}

port=$(shuf -i 20000-40000 -n 1)
export TMPDIR="$HOME/tmp"
mkdir -p "$TMPDIR" .config/svc
printf '[server]\nport = %s\n\n[[models]]\nmodel_id = "svc-tiny"\n' "$port" >.config/svc/svc.toml

echo "-- a service of the old release"
curl -fs "$address/old/install.sh" | SVC_RELEASE_URL=$address/old sh -s -- --service
served "$old"
expect "is the release at $address/old" "$svc" update

echo "-- refused, and nothing changes"
expect "is wrong: nothing was changed" "$svc" update --release "$address/forged"
expect "could not be downloaded" "$svc" update --release "$address/cut"
expect "status 404" "$svc" update --release "$address/nothing"
expect "name the address" "$svc" update --release "ftp://127.0.0.1/x"
expect "could not be reached" "$svc" update --release "http://127.0.0.1:1"
chmod a-w .local/bin
expect "cannot write to" "$svc" update --release "$address/new"
chmod u+w .local/bin
expect "name a folder with room in TMPDIR" env TMPDIR="$HOME/small" "$svc" update --release "$address/new"
expect "(noexec), name another folder" env TMPDIR="$HOME/noexec" "$svc" update --release "$address/new"
mkdir -p small/prefix/bin && head -c 40M /dev/zero >small/filled
expect "cannot write to $HOME/small/prefix/bin" env SVC_RELEASE_URL="$address/new" sh "$(dirname "$0")/new/install.sh" --prefix "$HOME/small/prefix"
[ -z "$(ls -A small/prefix/bin)" ]
rm -rf small/*
served "$old"
clean

echo "-- killed while it downloads, and while it installs: one of the two releases is there, whole"
"$svc" update --release "$address/stalled" &
until [ -n "$(find "$TMPDIR" -name '*.tar.gz' -size +1M)" ]; do sleep 0.1; done
kill -9 $!
wait $! || true
works "$old"
begun=$(date +%s%N)
expect "svc $new is installed" "$svc" update --release "$address/new" --no-restart
took=$((($(date +%s%N) - begun) / 1000000))
back
for part in 1 2 3 4 5 6 7 8 9 10; do
    delay=$((took * part / 10))
    setsid "$svc" update --release "$address/new" --no-restart >/dev/null 2>&1 &
    sleep "$((delay / 1000)).$(printf %03d $((delay % 1000)))"
    kill -9 -$! 2>/dev/null || true
    wait $! || true
    version=$("$svc" --version)
    echo "killed after $delay of $took ms: $version"
    case $version in "svc $old") ;; "svc $new") back ;; *) exit 1 ;; esac
done
served "$old"
"$svc" update --release "$address/new" --no-restart
back
clean

echo "-- from one release to the next, with the service"
expect "svc $new is there" "$svc" update --release "$address/new" --check
expect "The service was restarted (systemctl --user)" "$svc" update --release "$address/new"
works "$new"
served "$new"
expect "Use --downgrade" "$svc" update --release "$address/old"
expect "svc $old is installed" "$svc" update --release "$address/old" --downgrade
served "$old"
expect "svc $new is installed" "$svc" update --release "$address/slow"
served "$new"
clean
sh "$(dirname "$0")/new/install.sh" --uninstall
! curl -fs "http://127.0.0.1:$port/api/version"
