#!/usr/bin/env bash
# Runs the rings that start tools as every kind of machine would: who runs them, whether bubblewrap is there, and which
# python3 comes first in the search path. Needs root on Linux, to take programs away in a mount namespace and to make an
# ordinary user. Run `npm test` or ./install.sh first.
#
#   test/matrix.sh [ROW …]      rows are USER-BUBBLEWRAP-PYTHON, all of them unless named
#
# USER: root; contained (root without CAP_SYS_ADMIN, as in most containers); user. BUBBLEWRAP: bwrap, none. PYTHON: system; private (a python3 in a home that others may not enter comes
# first); none. Rows of the ordinary user run beside those of root. Prints passed, skipped and failed tests of each row.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly RINGS=(test/exec test/sandbox test/e2e/agent.test.ts test/faults/tools.test.ts)
readonly TESTER=svc-tester
work=$(mktemp -d /var/tmp/svc-matrix-XXXXXX)
chmod 755 "$work"
made_user=no

finish() {
    rm -rf "$work"
    [ "$made_user" = no ] || userdel --remove --force "$TESTER" 2>/dev/null
}
trap finish EXIT

[ "$(id -u)" = 0 ] || { echo "test/matrix.sh: needs root" >&2; exit 2; }
[ -x svc ] && [ -x node_modules/.bin/bun ] || { echo "test/matrix.sh: run ./install.sh first" >&2; exit 2; }

# The ordinary user's own copy: this checkout may lie where others cannot read.
copy_for_user() {
    [ ! -d "$work/checkout" ] || return 0
    id "$TESTER" >/dev/null 2>&1 || { useradd --create-home --shell /bin/sh "$TESTER"; made_user=yes; }
    mkdir "$work/checkout"
    tar --exclude=./.git -cf - . | tar -xf - -C "$work/checkout"
    chown -R "$TESTER:" "$work/checkout"
}

# A virtual environment without packages, in a home that only its owner may enter. Prints its bin folder.
private_python() {
    local home=$1/closed real
    real=$(command -v /usr/bin/python3) || return 1
    mkdir -p "$home/python/bin"
    ln -sf "$real" "$home/python/bin/python3"
    printf 'home = /usr/bin\n' >"$home/python/pyvenv.cfg"
    chmod 700 "$home"
    echo "$home/python/bin"
}

# Programs that the row's machine lacks, to be hidden.
missing_programs() {
    [ "$1" = bwrap ] || command -v bwrap || true
    [ "$2" = none ] && compgen -G '/usr/bin/python3*' | grep -E 'python3(\.[0-9]+)?$' | xargs -r -n 1 realpath || true
}

run_row() {
    local user=$1 bwrap=$2 python=$3 here=$PWD path=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin home=$work/root as=()
    mkdir -p "$home"
    if [ "$user" = user ]; then
        copy_for_user
        here=$work/checkout home=$(getent passwd "$TESTER" | cut -d: -f6)
        as=(setpriv "--reuid=$TESTER" "--regid=$TESTER" --init-groups --inh-caps=-all --)
    fi
    [ "$user" != contained ] || as=(setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin --)
    if [ "$python" = private ]; then
        path=$(private_python "$home"):$path
        [ "$user" != user ] || chown -R "$TESTER:" "$home/closed"
    fi
    local hidden
    hidden=$(missing_programs "$bwrap" "$python" | sort -u)
    # shellcheck disable=SC2016
    env -i PATH="$path" HOME="$home" LANG=C.UTF-8 SVC_HIDDEN="$hidden" unshare --mount --propagation private \
        bash -c 'for program in $SVC_HIDDEN; do mount --bind /dev/null "$program"; done; unset SVC_HIDDEN; cd "$1"; shift; exec "$@"' \
        bash "$here" "${as[@]}" node_modules/.bin/bun test --timeout 30000 "${RINGS[@]}" >"$work/$user.log" 2>&1
}

count() { sed -n "s/^ *\([0-9][0-9]*\) $2\$/\1/p" "$work/$1.log" | tail -1; }

# One after the other; prints and counts.
run_rows() {
    local row user bwrap python status failed=0
    for row in "$@"; do
        IFS=- read -r user bwrap python <<<"$row"
        if [ "$bwrap" = bwrap ] && ! command -v bwrap >/dev/null; then
            echo "SKIPPED: $row: bubblewrap is not installed"
            continue
        fi
        if [ "$python" != none ] && [ ! -x /usr/bin/python3 ]; then
            echo "SKIPPED: $row: python3 is not installed"
            continue
        fi
        status=0
        run_row "$user" "$bwrap" "$python" || status=$?
        printf '%-20s %7s %7s %7s\n' "$row" "$(count "$user" pass)" "$(count "$user" skip)" "$(count "$user" fail)"
        if [ "$status" != 0 ]; then
            failed=1
            grep -E '^\(fail\)|^error:' "$work/$user.log" | sed 's/^/    /' | head -40 || true
            [ -n "$(count "$user" fail)" ] || tail -5 "$work/$user.log"
        fi
    done
    return "$failed"
}

rows=("$@")
if [ $# = 0 ]; then
    rows=({root,user}-{none,bwrap}-{system,private,none} contained-none-system)
fi
users=() others=()
for row in "${rows[@]}"; do
    case $row in user-*) users+=("$row") ;; *) others+=("$row") ;; esac
done
printf '%-20s %7s %7s %7s\n' row passed skipped failed
[ ${#users[@]} = 0 ] || copy_for_user
run_rows "${users[@]}" &
beside=$!
failed=0
run_rows "${others[@]}" || failed=1
wait "$beside" || failed=1
exit "$failed"
