"""Weights that AWQ has packed, which llama.cpp's converter does not unpack: 4 bits, layout "gemm"."""

import torch
from conversion.base import LazyTorchTensor, ModelBase

# Nibbles of a word hold columns 0, 2, 4, 6, 1, 3, 5, 7: where each column begins, bits.
SHIFTS = [0, 16, 4, 20, 8, 24, 12, 28]


def unpack(packed, shifts):
    rows, words = packed.shape
    return ((packed.unsqueeze(-1) >> shifts) & 15).reshape(rows, words * len(SHIFTS)).float()


def dequantize(weight, zeros, scales, shifts):
    group = weight.shape[0] // scales.shape[0]
    offset = unpack(zeros, shifts).repeat_interleave(group, 0)
    return ((unpack(weight, shifts) - offset) * scales.float().repeat_interleave(group, 0)).T


def install():
    usual = ModelBase.dequant_model

    def dequant_model(self):
        config = self.hparams.get("quantization_config") or {}
        if config.get("quant_method") != "awq":
            return usual(self)
        if config.get("bits", 4) != 4 or str(config.get("version", "gemm")).lower() != "gemm":
            raise NotImplementedError("AWQ weights are supported with 4 bits in the layout gemm")
        shifts = torch.tensor(SHIFTS, dtype=torch.int32)
        if self.lazy:
            shifts = LazyTorchTensor.from_eager(shifts)
        for name in [name for name in self.model_tensors if name.endswith(".qweight")]:
            layer = name.removesuffix(".qweight")
            parts = [self.model_tensors.pop(f"{layer}.{part}") for part in ("qweight", "qzeros", "scales")]
            self.model_tensors[f"{layer}.weight"] = lambda parts=parts: dequantize(*(part() for part in parts), shifts)
        return None

    ModelBase.dequant_model = dequant_model
