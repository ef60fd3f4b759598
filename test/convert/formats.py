"""A model of families.py in formats of other types of weights, each with a twin that has the same values in float32.

formats.py SOURCE OUT: writes OUT/FORMAT and OUT/FORMAT-twin for bf16, fp8 (blocks), gptq and awq (4 bits); and OUT/wide, a model in bf16
whose largest matrices take 128 MB each.
"""

import json
import shutil
import struct
import sys
from pathlib import Path

import numpy as np
import safetensors_file

sys.path.insert(0, str(Path(__file__).parent / "../../src/convert"))
import numpy_torch  # noqa: E402

source, out = Path(sys.argv[1]), Path(sys.argv[2])
BLOCK = 32
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def read():
    raw = (source / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header, start = json.loads(raw[8 : 8 + length]), 8 + length
    header.pop("__metadata__", None)
    return {
        name: np.frombuffer(raw[start + t["data_offsets"][0] : start + t["data_offsets"][1]], np.float32).reshape(t["shape"])
        for name, t in header.items()
    }


def write(name, tensors, quantization=None):
    folder = out / name
    folder.mkdir(parents=True)
    for file in source.iterdir():
        if file.name not in ("model.safetensors", "config.json"):
            shutil.copy(file, folder / file.name)
    config = json.loads((source / "config.json").read_text())
    if quantization is not None:
        config["quantization_config"] = quantization
    (folder / "config.json").write_text(json.dumps(config))
    safetensors_file.write(folder / "model.safetensors", tensors, __metadata__={"format": "pt"})


def both(name, convert, quantization):
    """`convert` returns the tensors of a linear layer, and its values."""
    made, twin = {}, {}
    for key, values in weights.items():
        if not key.endswith("_proj.weight"):
            made[key] = twin[key] = ("F32", values)
            continue
        own, exact = convert(key.removesuffix(".weight"), values)
        made.update(own)
        twin[key] = ("F32", np.ascontiguousarray(exact, dtype=np.float32))
    write(name, made, quantization)
    write(f"{name}-twin", twin)


def fp8(layer, values):
    table = numpy_torch._TABLES["e4m3"]
    rows, columns = values.shape
    scale = np.abs(values.reshape(rows // BLOCK, BLOCK, columns // BLOCK, BLOCK)).max((1, 3)).astype(np.float32) / 448
    spread = np.repeat(np.repeat(scale, BLOCK, 0), BLOCK, 1)
    known = np.flatnonzero(~np.isnan(table))
    codes = known[np.abs((values / spread)[..., None] - table[known]).argmin(-1)].astype(np.uint8)
    own = {f"{layer}.weight": ("F8_E4M3", codes), f"{layer}.weight_scale_inv": ("F32", scale)}
    return own, table[codes] * spread


def packed(values, order):
    words = sum(values[..., column].astype(np.uint32) << (4 * place) for place, column in enumerate(order))
    return ("I32", np.ascontiguousarray(words).view(np.int32))


def four_bits(kind):
    def convert(layer, values):
        inputs, outputs = values.T.shape
        groups = values.T.reshape(inputs // BLOCK, BLOCK, outputs)
        low, high = groups.min(1), groups.max(1)
        scale = ((high - low) / 15).astype(np.float16)
        wide = scale.astype(np.float32)
        zero = np.clip(np.round(-low / wide), 1, 15).astype(np.int32)
        codes = np.clip(np.round(groups / wide[:, None] + zero[:, None]), 0, 15).astype(np.int32)
        exact = ((codes - zero[:, None]) * wide[:, None]).reshape(inputs, outputs).T
        codes = codes.reshape(inputs, outputs)
        own = {f"{layer}.scales": ("F16", scale)}
        by_words = (len(zero), outputs // 8, 8)
        if kind == "awq":
            own[f"{layer}.qweight"] = packed(codes.reshape(inputs, outputs // 8, 8), AWQ_ORDER)
            own[f"{layer}.qzeros"] = packed(zero.reshape(by_words), AWQ_ORDER)
            return own, exact
        own[f"{layer}.qweight"] = packed(np.moveaxis(codes.reshape(inputs // 8, 8, outputs), 1, -1), range(8))
        own[f"{layer}.qzeros"] = packed((zero - 1).reshape(by_words), range(8))
        own[f"{layer}.g_idx"] = ("I32", (np.arange(inputs) // BLOCK).astype(np.int32))
        return own, exact

    return convert


weights = read()
halves = {key: (values.view(np.uint32) >> 16).astype(np.uint16) for key, values in weights.items()}
write("bf16", {key: ("BF16", values) for key, values in halves.items()})
write("bf16-twin", {key: ("F32", (values.astype(np.uint32) << 16).view(np.float32)) for key, values in halves.items()})
both("fp8", fp8, {"quant_method": "fp8", "weight_block_size": [BLOCK, BLOCK]})
both("gptq", four_bits("gptq"), {"quant_method": "gptq", "bits": 4, "group_size": BLOCK})
both("awq", four_bits("awq"), {"quant_method": "awq", "bits": 4, "group_size": BLOCK, "version": "gemm"})

HIDDEN, INNER = 2048, 1 << 15
config = json.loads((source / "config.json").read_text())
config.update(hidden_size=HIDDEN, intermediate_size=INNER, num_hidden_layers=1, num_attention_heads=16, num_key_value_heads=16, head_dim=128)
sizes = {config["vocab_size"]: config["vocab_size"], 64: HIDDEN, 32: HIDDEN, 96: INNER}
random = np.random.default_rng(3)


def wide(shape):
    values = np.empty(shape, np.uint16)
    for row in values.reshape(-1, shape[-1]):
        row[:] = random.standard_normal(shape[-1], np.float32).view(np.uint32) >> 16
    return values


layers = {key: values.shape for key, values in weights.items() if ".layers.1." not in key}
write("wide", {key: ("BF16", wide(tuple(sizes[size] for size in shape))) for key, shape in layers.items()})
(out / "wide/config.json").write_text(json.dumps(config))
