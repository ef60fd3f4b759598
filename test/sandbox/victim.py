"""Stands for the server: a process of its user with a secret, sockets and memory of its own."""

import ctypes
import json
import os
import socket
import sys

folder, abstract = sys.argv[1:]
has_ipv6 = socket.has_dualstack_ipv6()
family, anywhere = (socket.AF_INET6, "::") if has_ipv6 else (socket.AF_INET, "0.0.0.0")
tcp = socket.create_server((anywhere, 0), family=family, dualstack_ipv6=has_ipv6, backlog=1000)
narrow = socket.create_server(("127.0.0.1", 0))
udp = socket.socket(family, socket.SOCK_DGRAM)
if has_ipv6:
    udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
udp.bind((anywhere, 0))
datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
datagram.bind(f"{folder}/datagram")
os.chmod(f"{folder}/datagram", 0o777)
unix = socket.socket(socket.AF_UNIX)
unix.bind(f"{folder}/socket")
unix.listen()
hidden = socket.socket(socket.AF_UNIX)
hidden.bind(f"\0{abstract}")
hidden.listen()
secret = ctypes.create_string_buffer(b"secret!")
libc = ctypes.CDLL(None)
segment = libc.shmget(0, 4096, 0o1600)
print(
    json.dumps(
        {
            "port": tcp.getsockname()[1],
            "narrowPort": narrow.getsockname()[1],
            "udpPort": udp.getsockname()[1],
            "hasIpv6": has_ipv6,
            "address": ctypes.addressof(secret),
            "segment": segment,
        }
    ),
    flush=True,
)
sys.stdin.read()
libc.shmctl(segment, 0, None)
