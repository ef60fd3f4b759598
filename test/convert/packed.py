"""GPTQ and AWQ through the converter by pieces of rows, against their definition: packed.py SCRIPTS FOLDER.

Writes tiny models with random codes, converts them by the files of SCRIPTS (their vocabulary left out: a made one has no known
pre-tokenizer), and compares the values of the files. Prints how many were equal.
"""

import json
import os
import sys
from pathlib import Path

scripts, folder = Path(sys.argv[1]), Path(sys.argv[2])
sys.path[:0] = [str(scripts), str(scripts / "gguf-py")]
os.environ["USE_TORCH"] = "0"
import numpy as np  # noqa: E402
import numpy_torch  # noqa: E402
import transformers  # noqa: E402, F401

numpy_torch.install()
import awq  # noqa: E402
import gguf  # noqa: E402
import safetensors_file  # noqa: E402
import stream  # noqa: E402
from conversion.base import ModelBase  # noqa: E402
from conversion.llama import LlamaModel  # noqa: E402

WIDTH = int(sys.argv[3]) if len(sys.argv) > 3 else 1
HIDDEN, INNER, HEADS, VOCAB, GROUP = 64, 160 * WIDTH, 2, 40, 32
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]
random = np.random.default_rng(5)
SHAPES = {f"self_attn.{name}_proj": (HIDDEN, HIDDEN) for name in "qkvo"}
SHAPES |= {"mlp.gate_proj": (INNER, HIDDEN), "mlp.up_proj": (INNER, HIDDEN), "mlp.down_proj": (HIDDEN, INNER)}


def packed(codes, order):
    """Words of the last axis."""
    words = codes.reshape(*codes.shape[:-1], -1, len(order)).astype(np.uint32)
    bits = 32 // len(order)
    return sum(words[..., column] << np.uint32(bits * place) for place, column in enumerate(order)).view(np.int32)


def layer(kind, bits, rows, columns):
    """Tensors of a layer, and its values."""
    codes = random.integers(0, 1 << bits, (columns, rows), np.int32)
    zeros = random.integers(1, 1 << bits, (columns // GROUP, rows), np.int32)
    scales = random.random((columns // GROUP, rows), np.float32).astype(np.float16)
    groups = (random.permutation(columns) if kind == "gptq" else np.arange(columns)) // GROUP
    values = (scales[groups].astype(np.float32) * (codes - zeros[groups]).astype(np.float32)).T
    order = AWQ_ORDER if kind == "awq" else range(32 // bits)
    made = {"scales": ("F16", scales), "qzeros": ("I32", packed(zeros - (kind == "gptq"), order))}
    if kind == "awq":
        return made | {"qweight": ("I32", packed(codes, order))}, values
    by_rows = np.ascontiguousarray(packed(np.ascontiguousarray(codes.T), order).T)
    return made | {"qweight": ("I32", by_rows), "g_idx": ("I32", groups.astype(np.int32))}, values


def model(kind, bits):
    names = {"model.embed_tokens": (VOCAB, HIDDEN), "lm_head": (VOCAB, HIDDEN), "model.norm": (HIDDEN,)}
    names |= {f"model.layers.0.{name}_layernorm": (HIDDEN,) for name in ("input", "post_attention")}
    made, wanted = {f"{name}.weight": ("F32", random.standard_normal(shape, np.float32)) for name, shape in names.items()}, {}
    for name, shape in SHAPES.items():
        parts, wanted[name] = layer(kind, bits, *shape)
        made |= {f"model.layers.0.{name}.{part}": value for part, value in parts.items()}
    return made, wanted


def write(into, made, kind, bits):
    into.mkdir(parents=True, exist_ok=True)
    config = dict(
        architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=HIDDEN, intermediate_size=INNER, num_hidden_layers=1,
        num_attention_heads=HEADS, num_key_value_heads=HEADS, vocab_size=VOCAB, max_position_embeddings=256, rms_norm_eps=1e-5,
        quantization_config=dict(quant_method=kind, bits=bits, group_size=GROUP),
    )
    (into / "config.json").write_text(json.dumps(config))
    safetensors_file.write(into / "model.safetensors", made)


awq.install()
LlamaModel.set_vocab = lambda self: None
if WIDTH == 1:
    stream.PIECE_VALUES = 512  # pieces of a few rows
stream.install()
whole = gguf.LazyBase.to_eager
for kind, bits in (("awq", 4), ("gptq", 4), ("gptq", 8), ("gptq", 2)):
    into = folder / f"{kind}{bits}"
    made, wanted = model(kind, bits)
    write(into, made, kind, bits)
    output = into / "model.gguf"
    converter = LlamaModel(into, gguf.LlamaFileType.ALL_F32, output, eager=False, hparams=ModelBase.load_hparams(into, False))
    converter.write()
    written = {tensor.name: tensor for tensor in gguf.GGUFReader(output).tensors}
    for name, values in wanted.items():
        if name.endswith(("q_proj", "k_proj")):
            values = LlamaModel.permute(values, HEADS, HEADS)
        short = {"self_attn.o_proj": "attn_output"}.get(name) or name.replace("self_attn.", "attn_").replace("mlp.", "ffn_").replace("_proj", "")
        found = written[f"blk.0.{short}.weight"].data.reshape(values.shape)
        assert np.array_equal(found, values), (kind, bits, name, found, values)
    print(f"{kind} of {bits} bits: {len(wanted)} matrices equal")
