"""Vectors of all-MiniLM-L6-v2 for the texts of bert-tokens.json, by its published formula in F64; writes minilm-vectors.json.

usage: python3 test/real/minilm.py FOLDER  (the folder of the model with model.safetensors; needs numpy)
A vector of 384 numbers is kept as base64 of bytes, scaled to its largest number.
"""

import base64
import json
import math
import sys
from pathlib import Path

import numpy as np

LAYERS, HEADS, EPSILON = 6, 12, 1e-12
HERE = Path(__file__).parent


def tensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = (8 + size + offset for offset in entry["data_offsets"])
            yield name, np.frombuffer(data[start:end], "<f4").reshape(entry["shape"]).astype(np.float64)


weights = dict(tensors(Path(sys.argv[1]) / "model.safetensors"))


def linear(x, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def norm(x, name):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def vector(ids):
    words, places, kinds = (weights[f"embeddings.{n}_embeddings.weight"] for n in ("word", "position", "token_type"))
    x = norm(words[ids] + places[: len(ids)] + kinds[0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        q, k, v = (
            linear(x, f"{at}.attention.self.{part}").reshape(len(ids), HEADS, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = np.exp(q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1]))
        mixed = (scores / scores.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(ids), -1)
        x = norm(x + linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        inner = linear(x, f"{at}.intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(x + linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
    return x.mean(0)


def packed(v):
    return base64.b64encode(np.rint(v / np.abs(v).max() * 127).astype(np.int8).tobytes()).decode()


texts = json.loads((HERE / "bert-tokens.json").read_text())
made = {language: packed(vector(ids)) for language, _, ids in texts}
(HERE / "minilm-vectors.json").write_text(json.dumps(made, indent=2) + "\n")
