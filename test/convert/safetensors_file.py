"""Writes files of safetensors."""

import json
import struct


def write(path, tensors, **head):
    """`tensors`: by name their type in the file and their values. `head`: what stands beside them."""
    header, at = dict(head), 0
    for key, (dtype, values) in tensors.items():
        header[key] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    data = b"".join(values.tobytes() for _, values in tensors.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
