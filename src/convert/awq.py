"""Weights that AWQ (layout "gemm") and GPTQ have packed into words, unpacked some rows of the result at a time, which are columns of what
is stored. llama.cpp's converter does not unpack AWQ, and GPTQ whole."""

import torch
from conversion.base import LazyTorchTensor, ModelBase

# Nibbles of a word hold columns 0, 2, 4, 6, 1, 3, 5, 7: where each column begins, bits.
AWQ_SHIFTS = [0, 16, 4, 20, 8, 24, 12, 28]


def unpacked(packed, shifts, first, last):
    """Columns of a matrix whose rows are packed."""
    low, high = first // len(shifts), -(-last // len(shifts))
    words = packed[:, low:high].unsqueeze(-1)
    wide = ((words >> torch.tensor(shifts, dtype=torch.int32)) & mask(shifts)).reshape(packed.shape[0], (high - low) * len(shifts))
    return wide[:, first - low * len(shifts) : last - low * len(shifts)]


def mask(shifts):
    return (1 << (32 // len(shifts))) - 1


def awq(weight, zeros, scales, first, last):
    group = weight.shape[0] // scales.shape[0]
    offset = unpacked(zeros, AWQ_SHIFTS, first, last).float().repeat_interleave(group, 0)
    values = unpacked(weight, AWQ_SHIFTS, first, last).float() - offset
    return (values * scales[:, first:last].float().repeat_interleave(group, 0)).T


def gptq(shifts, zero_offset):
    def rows(weight, zeros, scales, groups, first, last):
        words = weight[:, first:last].unsqueeze(1)
        places = torch.tensor(shifts, dtype=torch.int32).reshape(1, len(shifts), 1)
        values = ((words >> places) & mask(shifts)).reshape(weight.shape[0] * len(shifts), last - first)
        offset = unpacked(zeros, shifts, first, last) + zero_offset
        return (scales[:, first:last][groups].float() * (values - offset[groups]).float()).T

    return rows


def dequantized(rows, parts, shape_of):
    """A tensor of float32 by a function of some of its rows."""
    def whole(*args):
        return rows(*args, 0, shape_of(args[0].shape)[0])

    whole.rows = rows
    if not isinstance(parts[0], LazyTorchTensor):
        return whole(*parts)
    return LazyTorchTensor._wrap_fn(whole, meta_noop=(torch.float32, shape_of))(*parts)


def form_of(config):
    """The names of a layer's parts, what unpacks rows of them, and the shape of the result; None for other formats."""
    bits = config.get("bits", 4)
    if config.get("quant_method") == "awq":
        if bits != 4 or str(config.get("version", "gemm")).lower() != "gemm":
            raise NotImplementedError("AWQ weights are supported with 4 bits in the layout gemm")
        return ("qweight", "qzeros", "scales"), awq, lambda shape: (shape[1] * 8, shape[0])
    if config.get("quant_method") == "gptq" and bits in (2, 4, 8):
        shifts = list(range(0, 32, bits))
        rows = gptq(shifts, 1 if config.get("checkpoint_format", "gptq") == "gptq" else 0)
        return ("qweight", "qzeros", "scales", "g_idx"), rows, lambda shape: (shape[1], shape[0] * len(shifts))
    return None


def install():
    usual = ModelBase.dequant_model

    def dequant_model(self):
        form = form_of(self.hparams.get("quantization_config") or {})
        if form is None:
            return usual(self)
        names, rows, shape_of = form
        for name in [name for name in self.model_tensors if name.endswith(".qweight")]:
            layer = name.removesuffix(".qweight")
            parts = [self.model_tensors.pop(f"{layer}.{part}") for part in names]
            self.model_tensors[f"{layer}.weight"] = lambda parts=parts: dequantized(rows, [part() for part in parts], shape_of)
        return None

    ModelBase.dequant_model = dequant_model
