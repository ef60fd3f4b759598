#!/usr/bin/env bash
# An engine on two NUMA nodes, of two cores with two hardware threads each: boots a kernel with ./svc in qemu, checks on which nodes its memory
# is, packed weights by row and the rest in turn, and shows the processors of the threads. Emulated, so it says nothing of speed.
#
# Needs Linux on x86-64 with qemu-system-x86_64 and busybox (static), and a kernel, SVC_KERNEL or Debian's from apt-get.
set -euo pipefail
cd "$(dirname "$0")/.."
for program in qemu-system-x86_64 busybox; do
    command -v "$program" >/dev/null || { echo "SKIPPED: test/numa.sh: $program is not installed"; exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kernel=${SVC_KERNEL:-}
if [ -z "$kernel" ]; then
    package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-\)/\1/p')
    (cd "$work" && apt-get download -qq "$package" && dpkg-deb -x linux-image-*.deb kernel)
    kernel=$(echo "$work"/kernel/boot/vmlinuz-*)
fi
root=$work/root
mkdir -p "$root"/{bin,dev,proc,sys,tmp,lib64,lib/x86_64-linux-gnu}
cp "$(command -v busybox)" "$root/bin/busybox"
cp svc "$root/svc"
for library in $(ldd svc | grep -o '/lib[^ ]*') /lib/x86_64-linux-gnu/lib{stdc++.so.6,gcc_s.so.1,gomp.so.1}; do cp -L "$library" "$root$library"; done
cat >"$root/init" <<'GUEST'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp SVC_MAX_SEQ_LEN=4096 SVC_MAX_SEQS=8 SVC_PORT=1234 SVC_MODEL=svc-tiny
mount -t proc x /proc; mount -t sysfs x /sys; mount -t devtmpfs x /dev; mount -t tmpfs x /tmp; mount -t cgroup2 x /sys/fs/cgroup
ip link set lo up
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control; mkdir /sys/fs/cgroup/limited; echo 150000 100000 >/sys/fs/cgroup/limited/cpu.max
ask() { wget -qO- --header 'Content-Type: application/json' --post-data '{"model":"'"$SVC_MODEL"'","prompt":"Once upon a time there was a","max_tokens":4}' http://127.0.0.1:1234/v1/completions 2>/tmp/why; }
run() { # NAME, nodes with a region of packed weights, least and most percent of the largest other mapping (cache) on node 0, words before the command
    echo "== $1"; wanted=$2 least=$3 most=$4; shift 4
    "$@" /svc serve >/tmp/log 2>&1 &
    server=$!
    until ask >/tmp/answer; do sleep 2; [ -e /proc/$server ] || { cat /tmp/log; return; }; done
    for engine in $(grep -l "^PPid:.$server$" /proc/[0-9]*/status | cut -d/ -f3); do
        grep ' prefer:' /proc/$engine/numa_maps | tee /tmp/regions
        regions=$(awk '{ for (i = 3; i <= NF; i++) if ($i ~ /^N[01]=/) print (substr($i, 2, 1) == substr($2, 8)) ? substr($2, 8) : "other" }' /tmp/regions | sort -u | tr -d '\n')
        sed -n '/ prefer:/d; s/^7f.* anon=\([0-9]*\) .*/\1 &/p' /proc/$engine/numa_maps | sort -n | tail -n 1 >/tmp/largest
        share=$(awk '{ for (i = 2; i <= NF; i++) if ($i ~ /^N[01]=/) n[substr($i, 2, 1)] = substr($i, 4) } END { print int(100 * n[0] / (n[0] + n[1])) }' /tmp/largest)
        [ "$share" -ge "$least" ] && [ "$share" -le "$most" ] && [ "$regions" = "$wanted" ] && echo right || echo WRONG
        cut -d' ' -f2- /tmp/largest
        grep -h Cpus_allowed_list /proc/$engine/task/*/status | sort | uniq -c
    done
    kill $server; wait $server
}
run 'all processors' 01 10 90
run 'processors of node 1' '' 0 0 taskset 0xf0
run 'one hardware thread of each core' 01 10 90 taskset 0x55
run 'a quota of 1.5 processors' 01 10 90 sh -c 'echo $$ >/sys/fs/cgroup/limited/cgroup.procs; exec "$0" "$@"'
poweroff -f
GUEST
chmod 755 "$root/init"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$work/initrd"
timeout 2400 qemu-system-x86_64 -accel tcg,thread=multi -cpu max,vendor=GenuineIntel -m 4G -smp 8,sockets=2,cores=2,threads=2 \
    -object memory-backend-ram,id=m0,size=2G -object memory-backend-ram,id=m1,size=2G \
    -numa node,nodeid=0,cpus=0-3,memdev=m0 -numa node,nodeid=1,cpus=4-7,memdev=m1 \
    -kernel "$kernel" -initrd "$work/initrd" -append "console=ttyS0 quiet panic=-1 rcupdate.rcu_cpu_stall_suppress=1 nowatchdog" -nic none -no-reboot -nographic </dev/null | tee "$work/console"
[ "$(grep -c ^right "$work/console")" = 4 ]
