"""Starts the converter: start.py SCRIPT ARGUMENTS. Without PyTorch NumPy takes its place; distributions' PyTorch may be older than expected."""

import os
import resource
import runpy
import sys

try:
    import torch
except ImportError:
    os.environ["USE_TORCH"] = "0"
    import transformers  # noqa: F401  (looks for PyTorch, and must not find what takes its place)

    import numpy_torch

    numpy_torch.install()
    streams = True
else:
    streams = False
    # Only named in tables: weights of these types need a newer PyTorch, and are refused by it.
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "uint16", "uint32", "uint64"):
        if not hasattr(torch, name):
            setattr(torch, name, name)

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gguf-py"))
import awq  # noqa: E402  (needs torch, or what takes its place)

awq.install()
if streams:
    import stream

    stream.install()
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss} kB", file=sys.stderr)
