"""Ways out of the sandbox. Each function does something that must fail; one that returns has escaped.

An OSError means that it was contained. Any other error is a mistake of the attempt's own. Runs as
`python3 -c <this file> <facts as JSON>` and prints a line of JSON for each attempt.
"""

import ctypes
import errno
import json
import os
import resource
import signal
import socket
import struct
import sys

FACTS = json.loads(sys.argv[1])
OUTSIDE = FACTS["outside"]
VICTIM = FACTS["victim"]
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
ATTEMPTS = {}


def attempt(*networks):
    def register(function):
        only = FACTS.get("only")
        if FACTS["network"] in (networks or ("none",)) and (only is None or function.__name__ in only):
            ATTEMPTS[function.__name__] = function
        return function

    return register


def call(number, *arguments):
    ctypes.set_errno(0)
    padded = [a if isinstance(a, ctypes._Pointer) or hasattr(a, "_obj") else ctypes.c_long(a) for a in arguments]
    result = LIBC.syscall(ctypes.c_long(number), *padded)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def text(value):
    return ctypes.cast(ctypes.c_char_p(value.encode()), ctypes.c_void_p).value


def contained(condition, why):
    """For what shows in a value instead of an error."""
    if condition:
        raise OSError(0, why)


# --- files


@attempt()
def read_shadow():
    return open("/etc/shadow").read()


@attempt()
def read_a_file_outside():
    return open(f"{OUTSIDE}/secret").read()


@attempt()
def list_a_folder_outside():
    return os.listdir(OUTSIDE)


@attempt()
def read_a_key_in_the_home_of_the_server():
    return open(f"{FACTS['home']}/.ssh/id_ed25519").read()


@attempt()
def read_another_session():
    return open(FACTS["otherSession"]).read()


@attempt()
def write_a_file_outside():
    open(f"{OUTSIDE}/written", "w").write("x")


@attempt()
def write_into_another_session():
    open(FACTS["otherSession"], "a").write("x")


@attempt()
def append_to_a_file_outside():
    open(f"{OUTSIDE}/secret", "a").write("x")


@attempt()
def write_into_usr():
    open("/usr/svc-escape", "w").write("x")


@attempt()
def write_into_etc():
    open("/etc/svc-escape", "w").write("x")


@attempt()
def write_into_the_root():
    open("/svc-escape", "w").write("x")


@attempt()
def write_into_dev():
    open("/dev/svc-escape", "w").write("x")


@attempt()
def read_through_a_link():
    os.symlink(f"{OUTSIDE}/secret", "link-to-read")
    return open("link-to-read").read()


@attempt()
def write_through_a_link():
    os.symlink(OUTSIDE, "link-to-write")
    open("link-to-write/written", "w").write("x")


@attempt()
def link_a_file_outside_into_the_folder():
    os.link(f"{OUTSIDE}/secret", "linked")
    return open("linked").read()


@attempt()
def move_a_file_outside_into_the_folder():
    os.rename(f"{OUTSIDE}/secret", "moved")


@attempt()
def read_by_a_path_with_dots():
    return open(f"../{os.path.basename(OUTSIDE)}/secret").read()


@attempt()
def delete_a_file_outside():
    os.unlink(f"{OUTSIDE}/secret")


@attempt()
def truncate_a_file_outside():
    os.truncate(f"{OUTSIDE}/secret", 0)


@attempt()
def open_by_a_handle():
    handle = struct.pack("Ii", 8, 1) + b"\0" * 120
    call(304 if os.uname().machine == "x86_64" else 265, os.open("/", os.O_RDONLY), id_of(handle), 0)


def id_of(data):
    buffer = ctypes.create_string_buffer(data)
    KEPT.append(buffer)
    return ctypes.addressof(buffer)


KEPT = []


@attempt()
def read_a_disk():
    disks = [f"/dev/{name}" for name in ("vda", "sda", "nvme0n1", "dm-0", "loop0")]
    for disk in disks:
        try:
            return os.open(disk, os.O_RDONLY)
        except OSError:
            pass
    raise OSError(errno.EACCES, "no disk can be opened")


@attempt()
def read_the_memory_of_the_machine():
    os.open("/dev/mem", os.O_RDONLY)


@attempt()
def make_a_device():
    os.mknod("device", 0o600 | 0o060000, os.makedev(8, 0))


@attempt()
def change_the_kernel_by_proc():
    open("/proc/sys/kernel/core_pattern", "w").write("|/bin/false")


@attempt()
def ask_the_kernel_by_sysrq():
    open("/proc/sysrq-trigger", "w").write("h")


@attempt()
def change_the_kernel_by_sys():
    open("/sys/power/state", "w").write("")


# --- the server and other processes


@attempt()
def find_a_token_in_the_environment():
    contained("SECRET_TOKEN" not in os.environ, "it is not there")


@attempt()
def read_the_environment_of_the_server():
    return open(f"/proc/{VICTIM}/environ").read()


@attempt()
def read_the_command_line_of_the_server():
    return open(f"/proc/{VICTIM}/cmdline").read()


@attempt()
def read_the_memory_of_the_server():
    open(f"/proc/{VICTIM}/mem", "rb").read(1)


@attempt()
def go_through_the_root_of_the_server():
    return open(f"/proc/{VICTIM}/root{OUTSIDE}/secret").read()


@attempt()
def go_through_the_folder_of_the_server():
    return os.listdir(f"/proc/{VICTIM}/cwd")


@attempt()
def take_a_file_that_the_server_has_open():
    return os.listdir(f"/proc/{VICTIM}/fd")


@attempt()
def signal_the_server():
    os.kill(VICTIM, signal.SIGCONT)


@attempt()
def trace_the_server():
    call(X(101, 117), 16, VICTIM, 0, 0)  # PTRACE_ATTACH


@attempt()
def read_the_memory_of_the_server_by_a_call():
    local = ctypes.create_string_buffer(8)
    here = id_of(struct.pack("QQ", ctypes.addressof(local), 8))
    there = id_of(struct.pack("QQ", FACTS["address"], 8))
    call(X(310, 270), VICTIM, here, 1, there, 1, 0)


@attempt()
def take_a_descriptor_of_the_server():
    call(438, call(434, VICTIM, 0), 0, 0)


@attempt()
def limit_the_server():
    resource.prlimit(VICTIM, resource.RLIMIT_CORE, (0, resource.prlimit(VICTIM, resource.RLIMIT_CORE)[1]))


@attempt()
def make_the_server_slow():
    os.setpriority(os.PRIO_PROCESS, VICTIM, 19)


@attempt()
def move_the_server_to_another_processor():
    os.sched_setaffinity(VICTIM, {0})


@attempt()
def make_the_server_wait_for_the_disk():
    call(X(251, 30), 1, VICTIM, 3 << 13)  # ioprio_set: idle


@attempt()
def attach_memory_of_the_server():
    call(X(30, 196), FACTS["segment"], 0, 0o10000)  # shmat, read only


def X(x64, arm64):
    return x64 if os.uname().machine == "x86_64" else arm64


# --- network


@attempt("none", "loopback")
def reach_a_server_of_the_machine():
    socket.create_connection(("127.0.0.1", FACTS["port"]), 2)


@attempt("none")
def open_a_udp_socket():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


@attempt("none")
def open_a_tcp_socket_of_the_newer_kind():
    socket.socket(socket.AF_INET6, socket.SOCK_STREAM)


@attempt("none", "loopback")
def reach_an_address_outside():
    link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    link.setblocking(False)
    code = link.connect_ex(("192.0.2.1", 80))
    contained(code not in (0, errno.EINPROGRESS), os.strerror(code))


@attempt("none", "loopback")
def send_a_datagram_outside():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53))


@attempt("none", "loopback", "full")
def open_a_raw_socket():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


@attempt("none", "loopback", "full")
def open_a_packet_socket():
    socket.socket(17, socket.SOCK_RAW, 3)


@attempt("none", "loopback")
def open_a_netlink_socket():
    socket.socket(16, socket.SOCK_RAW, 0)


@attempt("none", "loopback", "full")
def open_a_socket_to_the_host_of_a_virtual_machine():
    socket.socket(40, socket.SOCK_STREAM)


@attempt("none", "loopback", "full")
def open_a_socket_of_the_cryptography_of_the_kernel():
    socket.socket(38, socket.SOCK_SEQPACKET)


@attempt("none", "loopback", "full")
def reach_an_abstract_socket():
    socket.socket(socket.AF_UNIX).connect(f"\0{FACTS['abstract']}")


@attempt("none", "loopback", "full")
def reach_a_socket_in_the_file_system():
    socket.socket(socket.AF_UNIX).connect(f"{OUTSIDE}/socket")


# --- the kernel


@attempt()
def mount_a_file_system():
    call(X(165, 40), text("none"), text("/tmp"), text("tmpfs"), 0, 0)


@attempt()
def unmount_a_file_system():
    call(X(166, 39), text("/proc"), 2)


@attempt()
def mount_in_the_new_way():
    call(430, text("tmpfs"), 0)


@attempt()
def clone_a_mount():
    call(428, -100, text("/"), 1)


@attempt()
def change_the_root():
    os.chroot(".")


@attempt()
def swap_the_root():
    call(X(155, 41), text("."), text("."))


@attempt()
def make_a_user_namespace():
    call(X(272, 97), 0x10000000)


@attempt()
def make_a_network_namespace():
    call(X(272, 97), 0x40000000)


@attempt()
def clone_into_a_user_namespace():
    if call(X(56, 220), 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        os._exit(0)


@attempt()
def clone_in_the_new_way_into_a_user_namespace():
    arguments = id_of(struct.pack("11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0))
    if call(435, arguments, 88) == 0:
        os._exit(0)


@attempt()
def enter_the_namespace_of_the_machine():
    call(X(308, 268), os.open("/proc/self/ns/ipc", os.O_RDONLY), 0)


@attempt()
def start_a_ring():
    call(425, 8, id_of(b"\0" * 120))


@attempt()
def load_a_program_into_the_kernel():
    call(X(321, 280), 0, id_of(b"\0" * 128), 128)


@attempt()
def measure_the_machine():
    call(X(298, 241), id_of(struct.pack("II", 1, 128) + b"\0" * 120), 0, -1, -1, 0)


@attempt()
def use_keys_of_the_kernel():
    call(X(250, 219), 0, -4, 0)


@attempt()
def handle_page_faults():
    call(X(323, 282), 0)


@attempt()
def load_a_module():
    call(X(175, 105), id_of(b"x"), 1, text(""))


@attempt()
def set_the_clock():
    call(X(227, 112), 0, id_of(struct.pack("qq", 0, 0)))


@attempt()
def name_the_machine():
    call(X(170, 161), text("escaped"), 7)


@attempt()
def swap_to_a_file():
    call(X(167, 224), text("swap"), 0)


@attempt()
def restart_the_machine():
    call(X(169, 142), 0, 0, 0, 0)  # without the magic numbers it would only answer EINVAL


@attempt()
def read_the_log_of_the_kernel():
    call(X(103, 116), 3, id_of(b"\0" * 64), 64)


@attempt()
def touch_the_hardware():
    contained(os.uname().machine != "x86_64", "there are no such calls")
    call(172, 3)


@attempt()
def use_calls_of_another_numbering():
    contained(os.uname().machine != "x86_64", "there is no other one")
    call(0x40000000 | 41, 2, 1, 0)


@attempt()
def put_memory_where_it_is_not_counted():
    call(X(319, 279), text("x"), 0)


@attempt()
def put_memory_into_a_segment():
    call(X(29, 194), 0, 1 << 20, 0o1600)


# --- rights


@attempt()
def become_root():
    os.setuid(0)


@attempt()
def become_a_member_of_other_groups():
    os.setgroups([0])


@attempt()
def gain_rights_by_a_program():
    contained(LIBC.prctl(39, 0, 0, 0, 0) == 1, "no program gives new rights")


@attempt()
def keep_capabilities():
    data = (ctypes.c_uint32 * 6)()
    call(X(125, 90), id_of(struct.pack("Ii", 0x20080522, 0)), ctypes.addressof(data))
    contained(not any(data), "there are none")


# --- memory of a kind that a limit on each process knows nothing of


@attempt()
def open_more_files_than_allowed():
    files = [os.open("/dev/null", os.O_RDONLY) for _ in range(5000)]
    return len(files)


@attempt()
def write_a_file_larger_than_allowed():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.truncate(os.open("large", os.O_CREAT | os.O_RDWR), 300 << 20)


@attempt()
def raise_a_limit():
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    except ValueError as error:
        raise OSError(0, str(error)) from error


def run(function):
    try:
        return {"escaped": True, "how": repr(function())[:200]}
    except OSError as error:
        return {"escaped": False, "why": str(error)}
    except BaseException as error:
        return {"broken": repr(error)}


def main():
    for name, function in ATTEMPTS.items():
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            signal.alarm(10)
            os.write(writer, json.dumps(run(function)).encode())
            os._exit(0)
        os.close(writer)
        told = b"".join(iter(lambda: os.read(reader, 65536), b""))
        os.close(reader)
        os.waitpid(child, 0)
        print(json.dumps({"name": name, **(json.loads(told) if told else {"broken": "it was killed"})}), flush=True)


main()
