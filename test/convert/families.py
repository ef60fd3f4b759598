"""Tiny random models of several families as transformers writes them, with the log probabilities that it computes.

families.py FOLDER: writes FOLDER/FAMILY for each family, and FOLDER/expected.json: family, token ids (a fixed prompt and its greedy
continuation), log probability of each token after those before it.
"""

import json
import sys
from pathlib import Path

import sentencepiece
import torch
import transformers

out = Path(sys.argv[1])
torch.manual_seed(7)
words = "the a cat dog house river stone sings runs over under green old small large and or not with from".split()
corpus = out / "corpus.txt"
corpus.write_text("\n".join(" ".join(words[(i * k + k) % len(words)] for i in range(12)) for k in range(1, 400)))
sentencepiece.SentencePieceTrainer.train(
    input=str(corpus), model_prefix=str(out / "tokenizer"), vocab_size=320, model_type="bpe", byte_fallback=True,
    character_coverage=1.0, pad_id=-1, minloglevel=2, hard_vocab_limit=False, num_threads=1,
)
vocab = sentencepiece.SentencePieceProcessor(model_file=str(out / "tokenizer.model")).vocab_size()

common = dict(
    vocab_size=vocab, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=256, bos_token_id=1, eos_token_id=2, pad_token_id=0, initializer_range=0.2,
)
families = {
    "llama": ("Llama", {}),
    "mistral": ("Mistral", dict(sliding_window=None)),
    "mixtral": ("Mixtral", dict(num_local_experts=4, num_experts_per_tok=2, sliding_window=None)),
    "qwen2": ("Qwen2", {}),
    "gemma": ("Gemma", dict(head_dim=16)),
    "gemma2": ("Gemma2", dict(head_dim=16, query_pre_attn_scalar=16, sliding_window=128)),
    "phi3": ("Phi3", dict(original_max_position_embeddings=256, sliding_window=None)),
    "granite": ("Granite", dict(embedding_multiplier=2.0, residual_multiplier=0.5, attention_multiplier=0.2, logits_scaling=1.5)),
    "granitemoe": ("GraniteMoe", dict(num_local_experts=4, num_experts_per_tok=2, logits_scaling=1.5, attention_multiplier=0.2)),
    "jamba": (
        "Jamba",
        dict(use_mamba_kernels=False, num_experts=4, num_experts_per_tok=2, attn_layer_period=2, attn_layer_offset=1, mamba_d_state=8),
    ),
}

expected = {}
for family, (name, extra) in families.items():
    config = getattr(transformers, f"{name}Config")(**{**common, **extra})
    config._attn_implementation = "eager"
    model = getattr(transformers, f"{name}ForCausalLM")(config).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:  # norms and biases are constant otherwise
            parameter.data += 0.1 * torch.randn_like(parameter)
    folder = out / family
    model.save_pretrained(folder, safe_serialization=True)
    (folder / "model.safetensors").chmod(0o644)  # a root's sandbox runs as another user
    (folder / "tokenizer.model").write_bytes((out / "tokenizer.model").read_bytes())
    tokenizer = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    if family == "phi3":  # llama.cpp expects this token of models with such a name
        tokenizer["added_tokens_decoder"] = {str(vocab - 1): {"content": "<|endoftext|>", "special": True}}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    ids = [1] + [(37 * i + 11) % (vocab - 260) + 260 for i in range(24)]
    with torch.no_grad():
        for _ in range(8):
            ids.append(int(model(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax()))
        chances = torch.log_softmax(model(torch.tensor([ids]), use_cache=False).logits[0].float(), dim=-1)
    expected[family] = {"ids": ids, "logprobs": [chances[i, token].item() for i, token in enumerate(ids[1:])]}
(out / "expected.json").write_text(json.dumps(expected))
