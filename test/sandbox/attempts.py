"""Ways out of the sandbox. Each does something that must fail; one that returns has escaped.

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
import threading

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


def attempts(*networks, **ways):
    """Registers what takes one expression, by its name."""
    for name, function in ways.items():
        function.__name__ = name
        attempt(*networks)(function)


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


attempts(
    read_shadow=lambda: open("/etc/shadow").read(),
    read_a_file_outside=lambda: open(f"{OUTSIDE}/secret").read(),
    list_a_folder_outside=lambda: os.listdir(OUTSIDE),
    read_a_key_in_the_home_of_the_server=lambda: open(f"{FACTS['home']}/.ssh/id_ed25519").read(),
    read_another_session=lambda: open(FACTS["otherSession"]).read(),
    write_a_file_outside=lambda: open(f"{OUTSIDE}/written", "w").write("x"),
    write_into_another_session=lambda: open(FACTS["otherSession"], "a").write("x"),
    append_to_a_file_outside=lambda: open(f"{OUTSIDE}/secret", "a").write("x"),
    write_into_usr=lambda: open("/usr/svc-escape", "w").write("x"),
    write_into_etc=lambda: open("/etc/svc-escape", "w").write("x"),
    write_into_the_root=lambda: open("/svc-escape", "w").write("x"),
    write_into_dev=lambda: open("/dev/svc-escape", "w").write("x"),
)


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


attempts(
    move_a_file_outside_into_the_folder=lambda: os.rename(f"{OUTSIDE}/secret", "moved"),
    read_by_a_path_with_dots=lambda: open(f"../../{os.path.basename(OUTSIDE)}/secret").read(),
    delete_a_file_outside=lambda: os.unlink(f"{OUTSIDE}/secret"),
    truncate_a_file_outside=lambda: os.truncate(f"{OUTSIDE}/secret", 0),
)


@attempt()
def open_by_a_handle():
    handle = struct.pack("Ii", 8, 1) + b"\0" * 120
    call(304 if os.uname().machine == "x86_64" else 265, os.open("/", os.O_RDONLY), id_of(handle), 0)


def id_of(data):
    buffer = ctypes.create_string_buffer(data)
    KEPT.append(buffer)
    return ctypes.addressof(buffer)


KEPT = []
GUARD = os.getppid()


@attempt()
def read_a_disk():
    disks = [f"/dev/{name}" for name in ("vda", "sda", "nvme0n1", "dm-0", "loop0")]
    for disk in disks:
        try:
            return os.open(disk, os.O_RDONLY)
        except OSError:
            pass
    raise OSError(errno.EACCES, "no disk can be opened")


attempts(
    read_the_memory_of_the_machine=lambda: os.open("/dev/mem", os.O_RDONLY),
    make_a_device=lambda: os.mknod("device", 0o600 | 0o060000, os.makedev(8, 0)),
    change_the_kernel_by_proc=lambda: open("/proc/sys/kernel/core_pattern", "w").write("|/bin/false"),
    ask_the_kernel_by_sysrq=lambda: open("/proc/sysrq-trigger", "w").write("h"),
    change_the_kernel_by_sys=lambda: open("/sys/power/state", "w").write(""),
)


# --- the server and other processes


attempts(
    find_a_token_in_the_environment=lambda: contained("SECRET_TOKEN" not in os.environ, "it is not there"),
    read_the_environment_of_the_server=lambda: open(f"/proc/{VICTIM}/environ").read(),
    read_the_command_line_of_the_server=lambda: open(f"/proc/{VICTIM}/cmdline").read(),
    read_the_memory_of_the_server=lambda: open(f"/proc/{VICTIM}/mem", "rb").read(1),
    go_through_the_root_of_the_server=lambda: open(f"/proc/{VICTIM}/root{OUTSIDE}/secret").read(),
    go_through_the_folder_of_the_server=lambda: os.listdir(f"/proc/{VICTIM}/cwd"),
    take_a_file_that_the_server_has_open=lambda: os.listdir(f"/proc/{VICTIM}/fd"),
    signal_the_server=lambda: os.kill(VICTIM, signal.SIGCONT),
    trace_the_server=lambda: call(X(101, 117), 16, VICTIM, 0, 0),  # PTRACE_ATTACH
)


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


attempts(
    make_the_server_slow=lambda: os.setpriority(os.PRIO_PROCESS, VICTIM, 19),
    move_the_server_to_another_processor=lambda: os.sched_setaffinity(VICTIM, {0}),
    make_the_server_wait_for_the_disk=lambda: call(X(251, 30), 1, VICTIM, 3 << 13),  # ioprio_set: idle
    attach_memory_of_the_server=lambda: call(X(30, 196), FACTS["segment"], 0, 0o10000),  # shmat, read only
)


def X(x64, arm64):
    return x64 if os.uname().machine == "x86_64" else arm64


# --- network


@attempt("none", "loopback", "full")
def reach_a_server_of_the_machine():
    socket.create_connection(("127.0.0.1", FACTS["port"]), 2)


def reach(address, port=None):
    """Connects a TCP socket to a server of the machine."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    link = socket.socket(family, socket.SOCK_STREAM)
    link.settimeout(3)
    link.connect((address, port or FACTS["port"]))


def tell(address, how=None):
    """Sends a datagram to a server of the machine."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    link = socket.socket(family, socket.SOCK_DGRAM)
    if how is None:
        link.sendto(b"x", (address, FACTS["udpPort"]))
    else:
        how(link, (address, FACTS["udpPort"]))


def lan_address(family):
    found = [address for address in FACTS["addresses"] if (":" in address) == (family == 6)]
    contained(not found, "the machine has no such address")
    return found[0]


attempts(
    "loopback", "full",
    reach_a_server_by_its_address_in_the_network=lambda: reach(lan_address(4)),
    reach_a_server_by_its_newer_address_in_the_network=lambda: reach(lan_address(6)),
    reach_a_server_by_the_address_of_all=lambda: reach("0.0.0.0"),
    reach_a_server_by_the_newer_address_of_all=lambda: reach("::"),
    reach_a_server_by_the_newer_loopback=lambda: reach("::1"),
    reach_a_server_by_another_loopback_address=lambda: reach("127.9.8.7"),
    reach_a_server_by_a_mapped_loopback_address=lambda: reach("::ffff:127.0.0.1"),
    reach_a_server_by_a_mapped_address_in_the_network=lambda: reach(f"::ffff:{lan_address(4)}"),
    reach_a_server_by_a_mapped_address_of_all=lambda: reach("::ffff:0.0.0.0"),
)


@attempt("loopback", "full")
def reach_a_server_by_the_name_of_the_machine():
    try:
        addresses = socket.getaddrinfo(socket.gethostname(), FACTS["port"], type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise OSError(0, str(error)) from error
    for *_, address in addresses:
        reach(address[0])


@attempt("loopback", "full")
def reach_the_metadata_of_a_cloud():
    reach("169.254.169.254", 80)


attempts(
    "full",
    tell_a_server_by_a_datagram=lambda: tell("127.0.0.1"),
    tell_a_server_by_a_datagram_to_its_address=lambda: tell(lan_address(4)),
    tell_a_server_by_a_newer_datagram=lambda: tell("::1"),
    tell_a_server_by_a_mapped_datagram=lambda: tell("::ffff:127.0.0.1"),
)


@attempt("full")
def tell_a_server_by_a_connected_datagram_socket():
    tell("127.0.0.1", lambda link, address: (link.connect(address), link.send(b"x")))


@attempt("full")
def tell_a_server_by_a_message():
    tell("127.0.0.1", lambda link, address: link.sendmsg([b"x"], [], 0, address))


def address_of(port, family=socket.AF_INET, host="127.0.0.1"):
    return struct.pack("=H", family) + struct.pack("!H", port) + socket.inet_aton(host) + b"\0" * 8


@attempt("full")
def tell_a_server_by_many_messages():
    part = id_of(struct.pack("QQ", id_of(b"x"), 1))
    name = id_of(address_of(FACTS["udpPort"]))
    header = struct.pack("QIxxxxQQQQIxxxx", name, 16, part, 1, 0, 0, 0) + struct.pack("Ixxxx", 0)
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    contained(call(X(307, 269), link.fileno(), id_of(header), 1, 0) != 1, "nothing was sent")


@attempt("full")
def tell_a_server_by_an_address_without_a_family():
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    call(X(44, 206), link.fileno(), id_of(b"x"), 1, 0, id_of(address_of(FACTS["udpPort"], socket.AF_UNSPEC)), 16)


@attempt("full")
def tell_all_of_the_network():
    def send(link, address):
        link.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        link.sendto(b"x", address)

    tell("255.255.255.255", send)


@attempt("full")
def tell_a_group_that_servers_listen_to():
    tell("224.0.0.251", lambda link, address: link.sendto(b"x", (address[0], 5353)))


@attempt("full")
def send_with_the_first_packet():
    link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    link.sendto(b"x", 0x20000000, ("127.0.0.1", FACTS["port"]))  # MSG_FASTOPEN


@attempt("full")
def send_a_message_with_the_first_packet():
    link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    link.sendmsg([b"x"], [], 0x20000000, ("127.0.0.1", FACTS["port"]))


@attempt("full")
def connect_with_the_first_write():
    link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    link.setsockopt(socket.IPPROTO_TCP, 30, 1)  # TCP_FASTOPEN_CONNECT
    link.connect(("127.0.0.1", FACTS["port"]))


@attempt("full")
def take_a_way_of_ones_own():
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    route = bytes([131, 7, 4]) + socket.inet_aton("127.0.0.1") + b"\0"
    link.setsockopt(socket.IPPROTO_IP, 4, route)


@attempt("full")
def take_a_way_of_ones_own_for_a_message():
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    route = bytes([131, 7, 4]) + socket.inet_aton("127.0.0.1") + b"\0"
    link.sendmsg([b"x"], [(socket.IPPROTO_IP, 7, route)], 0, ("192.0.2.1", 9))


attempts(
    "full",
    open_a_socket_of_many_addresses=lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132),  # SCTP
    open_a_socket_of_many_paths=lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262),  # MPTCP
    ask_the_kernel_about_the_sockets_of_others=lambda: socket.socket(16, socket.SOCK_RAW, 4),  # NETLINK_SOCK_DIAG
)


@attempt("full")
def share_the_port_of_a_server():
    link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    link.bind(("127.0.0.1", FACTS["port"]))
    link.listen()
    reach("127.0.0.1")


def race(swap, tries=150):
    """Connects to a server of one's own while another thread does `swap` over and over; true once it was the machine's."""


    own = socket.create_server(("127.0.0.1", 0), backlog=1000)
    address = ctypes.create_string_buffer(address_of(own.getsockname()[1]), 16)
    links = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(2)]
    over = threading.Event()

    def keep_swapping():
        while not over.is_set():
            swap(address, links, own)

    thread = threading.Thread(target=keep_swapping, daemon=True)
    thread.start()
    reached = False
    for _ in range(tries):
        link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        os.dup2(link.fileno(), links[0].fileno())
        try:
            call(X(42, 203), links[0].fileno(), ctypes.addressof(address), 16)
            reached = reached or links[0].getpeername()[1] == FACTS["port"]
        except OSError:
            pass
        link.close()
    over.set()
    thread.join()
    return reached


@attempt("full")
def change_an_address_while_it_is_judged():
    def swap(address, links, own):
        address[2:4] = struct.pack("!H", FACTS["port"])
        address[2:4] = struct.pack("!H", own.getsockname()[1])

    contained(not race(swap, 12), "the address that was judged is the one that was used")


@attempt("full")
def end_an_association_and_begin_another_one():
    own = socket.create_server(("127.0.0.1", 0))
    link = socket.create_connection(own.getsockname())
    call(X(42, 203), link.fileno(), id_of(b"\0" * 16), 16)
    link.connect(("127.0.0.1", FACTS["port"]))


@attempt("none", "loopback", "full")
def reach_a_datagram_socket_in_the_file_system():
    link = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    link.sendto(b"x", f"{OUTSIDE}/datagram")


@attempt("none", "loopback", "full")
def reach_a_datagram_socket_by_one_of_a_pair():
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.connect(f"{OUTSIDE}/datagram")


@attempt("none", "loopback", "full")
def reach_a_socket_by_a_link():
    os.symlink(f"{OUTSIDE}/socket", "link-to-a-socket")
    try:
        socket.socket(socket.AF_UNIX).connect("link-to-a-socket")
    finally:
        os.unlink("link-to-a-socket")


@attempt("full")
def pass_a_descriptor_that_is_not_ones_own():
    one, _ = socket.socketpair()
    socket.send_fds(one, [b"x"], [100])


attempts(
    "none",
    open_a_udp_socket=lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    open_a_tcp_socket_of_the_newer_kind=lambda: socket.socket(socket.AF_INET6, socket.SOCK_STREAM),
)


@attempt("none", "loopback")
def reach_an_address_outside():
    link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    link.setblocking(False)
    code = link.connect_ex(("192.0.2.1", 80))
    contained(code not in (0, errno.EINPROGRESS), os.strerror(code))


@attempt("none", "loopback")
def send_a_datagram_outside():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53))


attempts(
    "none", "loopback", "full",
    open_a_raw_socket=lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
    open_a_packet_socket=lambda: socket.socket(17, socket.SOCK_RAW, 3),
)


@attempt("none", "loopback")
def open_a_netlink_socket():
    socket.socket(16, socket.SOCK_RAW, 0)


attempts(
    "none", "loopback", "full",
    open_a_socket_to_the_host_of_a_virtual_machine=lambda: socket.socket(40, socket.SOCK_STREAM),
    open_a_socket_of_the_cryptography_of_the_kernel=lambda: socket.socket(38, socket.SOCK_SEQPACKET),
    reach_an_abstract_socket=lambda: socket.socket(socket.AF_UNIX).connect(f"\0{FACTS['abstract']}"),
    reach_a_socket_in_the_file_system=lambda: socket.socket(socket.AF_UNIX).connect(f"{OUTSIDE}/socket"),
)


# --- the kernel


attempts(
    mount_a_file_system=lambda: call(X(165, 40), text("none"), text("/tmp"), text("tmpfs"), 0, 0),
    unmount_a_file_system=lambda: call(X(166, 39), text("/proc"), 2),
    mount_in_the_new_way=lambda: call(430, text("tmpfs"), 0),
    clone_a_mount=lambda: call(428, -100, text("/"), 1),
    change_the_root=lambda: os.chroot("."),
    swap_the_root=lambda: call(X(155, 41), text("."), text(".")),
    make_a_user_namespace=lambda: call(X(272, 97), 0x10000000),
    make_a_network_namespace=lambda: call(X(272, 97), 0x40000000),
)


@attempt()
def clone_into_a_user_namespace():
    if call(X(56, 220), 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        os._exit(0)


@attempt()
def clone_in_the_new_way_into_a_user_namespace():
    arguments = id_of(struct.pack("11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0))
    if call(435, arguments, 88) == 0:
        os._exit(0)


attempts(
    enter_the_namespace_of_the_machine=lambda: call(X(308, 268), os.open("/proc/self/ns/ipc", os.O_RDONLY), 0),
    start_a_ring=lambda: call(425, 8, id_of(b"\0" * 120)),
    load_a_program_into_the_kernel=lambda: call(X(321, 280), 0, id_of(b"\0" * 128), 128),
    measure_the_machine=lambda: call(X(298, 241), id_of(struct.pack("II", 1, 128) + b"\0" * 120), 0, -1, -1, 0),
    use_keys_of_the_kernel=lambda: call(X(250, 219), 0, -4, 0),
    handle_page_faults=lambda: call(X(323, 282), 0),
    load_a_module=lambda: call(X(175, 105), id_of(b"x"), 1, text("")),
    set_the_clock=lambda: call(X(227, 112), 0, id_of(struct.pack("qq", 0, 0))),
    name_the_machine=lambda: call(X(170, 161), text("escaped"), 7),
    swap_to_a_file=lambda: call(X(167, 224), text("swap"), 0),
    restart_the_machine=lambda: call(X(169, 142), 0, 0, 0, 0),  # without the magic numbers it would only answer EINVAL
    read_the_log_of_the_kernel=lambda: call(X(103, 116), 3, id_of(b"\0" * 64), 64),
)


@attempt()
def touch_the_hardware():
    contained(os.uname().machine != "x86_64", "there are no such calls")
    call(172, 3)


@attempt()
def use_calls_of_another_numbering():
    contained(os.uname().machine != "x86_64", "there is no other one")
    call(0x40000000 | 41, 2, 1, 0)


attempts(
    put_memory_where_it_is_not_counted=lambda: call(X(319, 279), text("x"), 0),
    put_memory_into_a_segment=lambda: call(X(29, 194), 0, 1 << 20, 0o1600),
)


# --- calls that filters forget


attempts(
    clone_a_mount_in_the_newest_way=lambda: call(467, -100, text("/"), 1, 0, 0),  # open_tree_attr
    make_a_call_of_a_later_kernel=lambda: call(1000),
)


@attempt()
def list_the_mounts_of_the_machine():
    call(458, id_of(struct.pack("IIQQQ", 24, 0, 0xFFFFFFFFFFFFFFFF, 0, 0)), id_of(b"\0" * 512), 64, 0)


@attempt()
def ask_about_a_mount():
    call(457, id_of(struct.pack("IIQQQ", 24, 0, 1, 1, 0)), id_of(b"\0" * 512), 512, 0)


@attempt()
def use_calls_of_another_numbering_to_read():
    contained(os.uname().machine != "x86_64", "there is no other one")
    call(0x40000000 | 39)  # getpid


@attempt()
def use_calls_of_another_numbering_of_their_own():
    contained(os.uname().machine != "x86_64", "there is no other one")
    call(0x40000000 | 520, text("/bin/true"), 0, 0)  # execve


def in_machine_code(code):
    """Runs it in a process of its own; contained where the kernel ends that."""
    import mmap

    child = os.fork()
    if child == 0:
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        os._exit(0 if ctypes.CFUNCTYPE(ctypes.c_int)(address)() >= 0 else 1)
    _, status = os.waitpid(child, 0)
    contained(status != 0, f"it ended with status {status}")


@attempt()
def make_calls_of_older_processors():
    contained(os.uname().machine != "x86_64", "there are none")
    in_machine_code(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret


@attempt()
def open_a_socket_by_a_call_of_older_processors():
    contained(os.uname().machine != "x86_64", "there are none")
    # mov eax, 359 (socket); mov ebx, AF_VSOCK; mov ecx, SOCK_STREAM; xor edx, edx; int 0x80; ret
    in_machine_code(bytes.fromhex("53b867010000bb28000000b90100000031d2cd805bc3"))


attempts(
    enter_a_ring=lambda: call(426, 0, 1, 0, 0, 0),
    register_with_a_ring=lambda: call(427, 0, 0, 0, 0),
    put_memory_where_nobody_looks=lambda: call(447, 0),  # memfd_secret
    put_memory_into_a_queue=lambda: call(X(240, 180), text("svc-escape"), os.O_CREAT | os.O_RDWR, 0o600, 0),
    put_memory_into_an_older_queue=lambda: call(X(68, 186), 0, 0o1600),
    put_memory_into_semaphores=lambda: call(X(64, 190), 0, 32000, 0o1600),
    put_memory_on_another_node=lambda: call(X(238, 237), 0, 0, 0),  # set_mempolicy
    advise_the_kernel_on_the_memory_of_the_server=lambda: call(440, call(434, VICTIM, 0), 0, 0, 4, 0),
    take_the_memory_of_the_server=lambda: call(448, call(434, VICTIM, 0), 0),
    signal_the_server_by_a_descriptor=lambda: call(424, call(434, VICTIM, 0), signal.SIGCONT, 0, 0),
    compare_oneself_with_the_server=lambda: call(X(312, 272), os.getpid(), VICTIM, 1, 0, 0),
)


@attempt()
def queue_a_signal_to_the_server():
    call(X(129, 138), VICTIM, signal.SIGCONT, id_of(struct.pack("iii", signal.SIGCONT, 0, -1) + b"\0" * 116))


@attempt("none", "loopback", "full")
def open_sockets_of_rare_families():
    # IPX, AX.25, X.25, KEY, RDS, CAN, TIPC, Bluetooth, NFC, KCM, SMC, XDP, MCTP
    for family in (3, 4, 9, 15, 21, 29, 30, 31, 39, 41, 43, 44, 45):
        try:
            socket.socket(family, socket.SOCK_DGRAM)
            return family
        except OSError as error:
            if error.errno not in (errno.EAFNOSUPPORT, errno.EPERM):
                raise RuntimeError(f"family {family} reached the kernel: {error}") from error
    raise OSError(errno.EAFNOSUPPORT, "none can be opened")


# --- control groups


@attempt()
def leave_the_control_group():
    for folder in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory"):
        try:
            return open(f"{folder}/cgroup.procs", "w").write(str(os.getpid()))
        except OSError:
            pass
    raise OSError(errno.EACCES, "no group can be entered")


attempts(
    make_a_control_group=lambda: os.mkdir("/sys/fs/cgroup/svc-escape"),
    mount_the_control_groups=lambda: call(X(165, 40), text("none"), text("."), text("cgroup2"), 0, 0),
    make_a_namespace_of_control_groups=lambda: call(X(272, 97), 0x02000000),
    name_a_program_that_the_kernel_runs=lambda: open("/sys/fs/cgroup/memory/release_agent", "w").write("/bin/false"),
)


# --- descriptors


@attempt("none", "loopback", "full")
def find_a_descriptor_that_was_left_open():
    """Standard streams, and the folder that is being listed."""
    found = [int(name) for name in os.listdir("/proc/self/fd")]
    kinds = [os.readlink(f"/proc/self/fd/{fd}") for fd in found if fd > 2 and os.path.exists(f"/proc/self/fd/{fd}")]
    foreign = [kind for kind in kinds if not kind.startswith(("pipe:", "/proc/"))]
    contained(not foreign, "there is none")
    return foreign


@attempt("full")
def signal_the_guard():
    contained(GUARD == 1, "it is out of sight")
    os.kill(GUARD, signal.SIGCONT)


@attempt("full")
def read_the_memory_of_the_guard():
    contained(GUARD == 1, "it is out of sight")
    open(f"/proc/{GUARD}/mem", "rb").read(1)


@attempt("full")
def take_the_place_of_the_guard():
    """A listener of one's own would answer the calls of one's children."""
    program = id_of(struct.pack("HBBI", 6, 0, 0, 0x7FC00000))
    call(X(317, 277), 1, 8, id_of(struct.pack("HxxxxxxQ", 1, program)))


@attempt("full")
def talk_to_the_guard():
    os.write(100, b"x")


# --- ports that a server of the machine has at 127.0.0.1 alone


def serve(address, only_newer=True, options=()):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    if family == socket.AF_INET6:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, only_newer)
    for option in (socket.SO_REUSEADDR, *options):
        server.setsockopt(socket.SOL_SOCKET, option, 1)
    server.bind((address, FACTS["narrowPort"]))
    server.listen()


attempts(
    "full",
    serve_a_port_at_the_newer_loopback=lambda: serve("::1"),
    serve_a_port_at_the_newer_address_of_all=lambda: serve("::"),
    serve_a_port_at_both_addresses_of_all=lambda: serve("::", only_newer=False),
    serve_a_port_at_the_address_of_all=lambda: serve("0.0.0.0", options=(socket.SO_REUSEPORT,)),
    serve_a_port_at_another_loopback_address=lambda: serve("127.9.8.7"),
    serve_a_port_at_a_mapped_address=lambda: serve("::ffff:127.9.8.7", only_newer=False),
    serve_a_port_at_the_address_in_the_network=lambda: serve(lan_address(4)),
)


@attempt("full")
def serve_a_port_that_another_thread_binds_meanwhile(tries=8):
    for _ in range(tries):
        server = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)

        def bind():
            try:
                server.bind(("::1", FACTS["narrowPort"]))
            except OSError:
                pass

        thread = threading.Thread(target=bind)
        thread.start()
        server.listen()
        thread.join()
        if server.getsockname()[1] == FACTS["narrowPort"]:
            return server
        server.close()
    raise OSError(0, "it never got the port")


@attempt("full")
def tell_an_open_port_from_a_closed_one():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    errors = set()
    for candidate in (port, FACTS["narrowPort"], FACTS["port"]):
        for address in ("127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"):
            try:
                reach(address, candidate)
                return candidate
            except OSError as error:
                errors.add(error.errno)
    contained(errors == {errno.ECONNREFUSED}, "they look the same")
    return errors


# --- rights


attempts(
    become_root=lambda: os.setuid(0),
    become_a_member_of_other_groups=lambda: os.setgroups([0]),
    gain_rights_by_a_program=lambda: contained(LIBC.prctl(39, 0, 0, 0, 0) == 1, "no program gives new rights"),
)


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
