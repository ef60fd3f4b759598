"""gpt-oss's form of MXFP4 through the converter, against its definition: mxfp4.py SCRIPTS FOLDER.

Writes a tiny model with random codes and scales, converts it by the files of SCRIPTS (its vocabulary left out: a made one has no known
pre-tokenizer), and compares the values of the file. Prints how many were equal.
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
import gguf  # noqa: E402
import safetensors_file  # noqa: E402
import stream  # noqa: E402
from conversion.base import ModelBase  # noqa: E402
from conversion.gpt_oss import GptOssModel  # noqa: E402

EXPERTS, HIDDEN, INNER, HEADS, HEAD, VOCAB = 4, 96, 64, 2, 32, 40
VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
random = np.random.default_rng(5)
tensors = {
    "model.embed_tokens.weight": (VOCAB, HIDDEN), "lm_head.weight": (VOCAB, HIDDEN), "model.norm.weight": (HIDDEN,),
    "model.layers.0.input_layernorm.weight": (HIDDEN,), "model.layers.0.post_attention_layernorm.weight": (HIDDEN,),
    "model.layers.0.self_attn.q_proj.weight": (HEADS * HEAD, HIDDEN), "model.layers.0.self_attn.q_proj.bias": (HEADS * HEAD,),
    "model.layers.0.self_attn.k_proj.weight": (HEAD, HIDDEN), "model.layers.0.self_attn.k_proj.bias": (HEAD,),
    "model.layers.0.self_attn.v_proj.weight": (HEAD, HIDDEN), "model.layers.0.self_attn.v_proj.bias": (HEAD,),
    "model.layers.0.self_attn.o_proj.weight": (HIDDEN, HEADS * HEAD), "model.layers.0.self_attn.o_proj.bias": (HIDDEN,),
    "model.layers.0.self_attn.sinks": (HEADS,), "model.layers.0.mlp.router.weight": (EXPERTS, HIDDEN),
    "model.layers.0.mlp.router.bias": (EXPERTS,), "model.layers.0.mlp.experts.gate_up_proj_bias": (EXPERTS, 2 * INNER),
    "model.layers.0.mlp.experts.down_proj_bias": (EXPERTS, HIDDEN),
}
made = {name: ("F32", random.standard_normal(shape, np.float32)) for name, shape in tensors.items()}
experts = {}
for name, rows, columns in (("gate_up_proj", 2 * INNER, HIDDEN), ("down_proj", HIDDEN, INNER)):
    blocks = random.integers(0, 256, (EXPERTS, rows, columns // 32, 16), np.uint8)
    scales = random.integers(110, 140, (EXPERTS, rows, columns // 32), np.uint8)
    made[f"model.layers.0.mlp.experts.{name}_blocks"] = ("U8", blocks)
    made[f"model.layers.0.mlp.experts.{name}_scales"] = ("U8", scales)
    pairs = np.stack((VALUES[blocks & 15], VALUES[blocks >> 4]), -1).reshape(EXPERTS, rows, columns // 32, 32)
    experts[name] = (pairs * np.exp2(scales.astype(np.float32) - 127)[..., None]).reshape(EXPERTS, rows, columns)

folder.mkdir(parents=True, exist_ok=True)
config = dict(
    architectures=["GptOssForCausalLM"], model_type="gpt_oss", hidden_size=HIDDEN, intermediate_size=INNER, num_hidden_layers=1,
    num_attention_heads=HEADS, num_key_value_heads=1, head_dim=HEAD, num_local_experts=EXPERTS, num_experts_per_tok=2, vocab_size=VOCAB,
    max_position_embeddings=256, sliding_window=128, rms_norm_eps=1e-5, rope_theta=150000, quantization_config=dict(quant_method="mxfp4"),
)
(folder / "config.json").write_text(json.dumps(config))
safetensors_file.write(folder / "model.safetensors", made)

GptOssModel.set_vocab = lambda self: None
stream.PIECE_VALUES = 512  # pieces of a few rows
stream.install()
output = folder / "model.gguf"
model = GptOssModel(folder, gguf.LlamaFileType.MOSTLY_BF16, output, eager=False, hparams=ModelBase.load_hparams(folder, False))
model.write()

wanted = {"gate": experts["gate_up_proj"][:, ::2], "up": experts["gate_up_proj"][:, 1::2], "down": experts["down_proj"]}
written = {tensor.name: tensor for tensor in gguf.GGUFReader(output).tensors}
for name, values in wanted.items():
    tensor = written[f"blk.0.ffn_{name}_exps.weight"]
    assert tensor.tensor_type == gguf.GGMLQuantizationType.MXFP4, tensor.tensor_type
    found = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(values.shape)
    assert np.array_equal(found, values), (name, found, values)
    print(f"{name}: {values.size} values equal")
