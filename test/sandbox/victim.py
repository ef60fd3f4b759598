"""Stands for the server: a process of its user with a secret, sockets and memory of its own."""

import ctypes
import json
import os
import socket
import sys

folder, abstract = sys.argv[1:]
tcp = socket.create_server(("127.0.0.1", 0))
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
    json.dumps({"port": tcp.getsockname()[1], "address": ctypes.addressof(secret), "segment": segment}),
    flush=True,
)
sys.stdin.read()
libc.shmctl(segment, 0, None)
