// What other programs call svc's settings. Pure.

/** Keys of llama.cpp, llama-swap, Ollama, LM Studio, LocalAI and vLLM, by svc's. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  model_id: ["path", "file", "filename", "model", "model_path", "modelfile", "gguf", "source"],
  alias: ["name", "id", "model_name", "served_model_name", "model_alias"],
  max_seq_len: [
    "ctx",
    "n_ctx",
    "num_ctx",
    "ctx_size",
    "context",
    "context_size",
    "context_length",
    "max_model_len",
    "max_context",
  ],
  device_layers: ["ngl", "gpu_layers", "n_gpu_layers", "num_gpu", "gpu_layers_count", "gpulayers"],
  max_seqs: ["np", "parallel", "n_parallel", "num_parallel", "max_num_seqs"],
  threads: ["n_threads", "num_thread", "num_threads"],
  batch: ["n_batch", "num_batch", "batch_size"],
  ubatch: ["n_ubatch", "ubatch_size"],
  api_keys: ["api_key", "apikey", "key"],
  cache_type: ["cache_type_k", "cache_type_v", "ctk", "ctv", "kv_cache_type", "kv_cache_dtype"],
  memory_fraction: ["gpu_memory_utilization", "mem_fraction_static"],
  mmproj: ["projector", "mmproj_path", "clip_model"],
  temperature: ["temp"],
  max_tokens: ["n_predict", "num_predict", "max_new_tokens"],
  repetition_penalty: ["repeat_penalty"],
  system: ["system_prompt"],
  host: ["address", "bind", "listen", "listen_address"],
  port: ["http_port", "listen_port"],
  idle_timeout: ["ttl", "keep_alive"],
  access_log_format: ["log_format"],
  state: ["database", "db"],
};

const OWN: ReadonlyMap<string, string> = new Map(
  Object.entries(NAMES).flatMap(([own, names]) => names.map((name) => [name, own] as const)),
);

/** svc's key for another program's, without its section; undefined for one that is not known. */
export function ownKeyOf(foreign: string): string | undefined {
  return OWN.get(foreign.toLowerCase().replaceAll("-", "_"));
}

/** Files of other programs by how they begin, and what to do with them. */
const FILES: readonly (readonly [begins: RegExp, what: string, fix: string])[] = [
  [
    /^\s*(?:#.*\n\s*)*FROM[ \t]+\S/i,
    "this is an Ollama Modelfile",
    "Write [[models]] with model_id = what stands after FROM; SYSTEM and PARAMETER become [models.defaults].",
  ],
  [
    /^\s*\{/,
    "this is JSON",
    "svc reads TOML: [section] lines with key = value below them. Servers of tools go into a file that mcp_config names.",
  ],
  [
    /^\s*(?:(?:#.*|---.*)\n\s*)*[A-Za-z_][\w-]*:(?:[ \t]|\r?\n)/,
    "this is YAML, as llama-swap, LocalAI and LiteLLM have it",
    'svc reads TOML: [[models]] with model_id for each model; kind = "upstream" for servers.',
  ],
];

/** What a text is that is not TOML, if it is a configuration of another program. */
export function foreignFile(text: string): { readonly what: string; readonly fix: string } | undefined {
  const found = FILES.find(([begins]) => begins.test(text));
  return found === undefined ? undefined : { what: found[1], fix: found[2] };
}
