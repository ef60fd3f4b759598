#!/usr/bin/env bash
# The sandbox on a machine with cgroup v2 alone: boots a Debian of this machine's release in qemu and runs test/sandbox there,
# as root and as an ordinary user, in a scope that is delegated to it and without one. Needs root on Linux,
# qemu-system-x86_64, mmdebstrap with its packages, and mkfs.ext4. Takes minutes with /dev/kvm, half an hour without.
# Run ./install.sh first.
#
#   test/vm.sh [TEST …]      test files; unless named those of the sandbox and of the executors, with /dev/kvm
#
# The system is put together from this machine's package sources and kept in SVC_VM_ROOT, where that is set.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "SKIPPED: test/vm.sh: $*"; exit 0; }
[ "$(uname -s)-$(uname -m)-$(id -u)" = Linux-x86_64-0 ] || skip "needs root on Linux, x86-64"
for program in qemu-system-x86_64 mmdebstrap mkfs.ext4; do
    command -v "$program" >/dev/null || skip "$program is not installed"
done
[ -x svc ] && [ -x node_modules/.bin/bun ] || { echo "test/vm.sh: run ./install.sh first" >&2; exit 2; }

# Without virtualization of the processor (also where /dev/kvm is there for guests of a kernel of its own) all is emulated.
accel=(-accel tcg,thread=multi -cpu max)
if [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo; then
    accel=(-accel kvm -cpu host)
    files=(test/sandbox test/exec)
else
    echo "== vm: no hardware virtualization: emulated, some twenty times slower, and with the tests of control groups alone"
    files=(test/sandbox/control-groups.test.ts)
fi
[ $# = 0 ] || files=("$@")
work=$(mktemp -d /var/tmp/svc-vm-XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
root=${SVC_VM_ROOT:-$work/root}

if [ ! -d "$root/boot" ]; then
    echo "== vm: a Debian with its kernel"
    # shellcheck disable=SC1091
    . /etc/os-release
    packages=linux-image-cloud-amd64,initramfs-tools,systemd-sysv,dbus,dbus-user-session,libpam-systemd
    packages=$packages,python3,bubblewrap,util-linux,procps,iproute2,git,openssh-client,ca-certificates
    sources=$(find /etc/apt -name '*.list' -o -name '*.sources')
    # shellcheck disable=SC2086
    mmdebstrap --quiet --variant=minbase --include="$packages" "$VERSION_CODENAME" "$root" $sources
    chroot "$root" useradd --create-home --shell /bin/sh tester
fi

# One line for each way to be started: its name, words before the command, whether control groups must work.
cat >"$root/svc-vm.sh" <<'GUEST'
#!/bin/bash
cd /home/tester/svc
loginctl enable-linger tester
until [ -S /run/user/"$(id -u tester)"/bus ]; do sleep 0.1; done
cgroups=$(stat -fc %T /sys/fs/cgroup)
echo "kernel $(uname -r), /sys/fs/cgroup: $cgroups"
failed=0
run() {
    local name=$1 expected=$2
    shift 2
    echo "== vm: $name"
    "$@" env SVC_EXPECT_CONTROL_GROUPS="$expected" HOME="$PWD/.." LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
        node_modules/.bin/bun test --timeout 300000 $(cat /svc-vm.files) >/tmp/log 2>&1 || failed=1
    grep -E '^\(fail\)|^error:|SKIPPED|^ +[0-9]+ (pass|skip|fail)$' /tmp/log | cut -c1-300
    [ "$failed" = 0 ] || grep -B30 '^(fail)' /tmp/log | tail -150 | cut -c1-300
    "$@" env PATH=/usr/bin:/bin ./svc doctor 2>&1 | grep -i sandbox || true
    rm -f /tmp/log
}
as_tester() { runuser -u tester -- env XDG_RUNTIME_DIR=/run/user/"$(id -u tester)" "$@"; }
run "root, in a scope that systemd is asked for" 1
run "root, in a delegated scope" 1 systemd-run --quiet --scope --property=Delegate=yes
run "an ordinary user, in a delegated service" 1 systemd-run --quiet --wait --pipe --uid=tester --working-directory="$PWD" --property=Delegate=yes
run "an ordinary user, systemd-run --user --scope" 1 as_tester systemd-run --quiet --user --scope --property=Delegate=yes
run "an ordinary user, nothing delegated" '' runuser -u tester --
echo "svc-vm: ended with $failed"
sync
systemctl poweroff --force --force
GUEST
chmod 755 "$root/svc-vm.sh"
echo "${files[@]}" >"$root/svc-vm.files"
cat >"$root/etc/systemd/system/svc-vm.service" <<'UNIT'
[Unit]
After=multi-user.target dbus.service systemd-logind.service
[Service]
ExecStart=/svc-vm.sh
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
[Install]
WantedBy=default.target
UNIT
chroot "$root" systemctl enable --quiet svc-vm.service
chroot "$root" systemctl mask --quiet serial-getty@ttyS0.service

echo "== vm: this checkout"
rm -rf "$root/home/tester/svc"
mkdir "$root/home/tester/svc"
tar --exclude=./.git -cf - . | tar -xf - -C "$root/home/tester/svc"
chroot "$root" chown -R tester: /home/tester
chmod 755 "$root/home/tester"
truncate -s 8G "$work/disk"
mkfs.ext4 -q -d "$root" "$work/disk"
cp -L "$root/vmlinuz" "$root/initrd.img" "$work"

echo "== vm: boot"
timeout 3000 qemu-system-x86_64 "${accel[@]}" -smp 2 -m 4G -no-reboot -nic none \
    -display none -monitor none -serial "file:$work/console" \
    -kernel "$work/vmlinuz" -initrd "$work/initrd.img" -append "root=/dev/vda rw console=ttyS0 quiet loglevel=1 cryptomgr.notests systemd.show_status=false" \
    -drive "file=$work/disk,if=virtio,format=raw,cache=unsafe" </dev/null &
machine=$!
tail --pid="$machine" -n +1 -F "$work/console" 2>/dev/null
tr -d '\r' <"$work/console" | grep -q '^svc-vm: ended with 0'
