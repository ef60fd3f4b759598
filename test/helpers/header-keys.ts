// Keys of headers of models that count layers and sizes, behind the name of the architecture: what tests of headers change.

export const HEADER_KEYS: readonly string[] = [
  "block_count",
  "nextn_predict_layers",
  "context_length",
  "embedding_length",
  "feed_forward_length",
  "vocab_size",
  "expert_count",
  "expert_used_count",
  "expert_group_count",
  "attention.head_count",
  "attention.head_count_kv",
  "attention.key_length",
  "attention.sliding_window",
];
