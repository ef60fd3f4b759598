"""Starts the converter: start.py SCRIPT ARGUMENTS. Distributions' PyTorch may be older than it expects."""

import runpy
import sys

import torch

# Only named in tables: weights of these types need a newer PyTorch, and are refused by it.
for name in ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "uint16", "uint32", "uint64"):
    if not hasattr(torch, name):
        setattr(torch, name, name)

sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
