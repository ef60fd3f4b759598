// The one table of settings. Flags, environment names, TOML paths, --help and svc.toml.example are
// all derived from it (table.ts, document.ts, ../cli/args.ts), and `Settings` is its static type. A new setting is one
// row here and nothing else. Rows marked `later` belong to the interface but do nothing yet; rows marked `never` are
// recognised only to be refused with a reason.

import { Type, type Static } from "@sinclair/typebox";
import { CACHE_TYPES } from "../core/cache-size.ts";
import { ANSWER_CALLS_MAX } from "../core/limits.ts";
import { AliasEntry } from "./alias-entry.ts";
import { choice, integer, later, list, number, optional, section, text, toggle, tristate } from "./field.ts";
import { KeyEntry } from "./key-entry.ts";
import { Models } from "./model-settings.ts";
import { Server } from "./server-settings.ts";

/** The value of `search_embedding_model` that is known without an entry in [[models]], and what it stands for. */
export const SEARCH_MODEL_NAME = "embedding-gemma";
export const SEARCH_MODEL_ID = "ggml-org/embeddinggemma-300M-GGUF:embeddinggemma-300M-Q8_0.gguf";

/** Default Python. */
export const PYTHON_BY_DEFAULT = "python3";

const Runtime = section("How models are run.", {
  max_seqs: integer("Sequences generated at the same time in one batch.", {
    default: 32,
    minimum: 1,
    maximum: 256,
  }),
  chat_template: optional(
    text("File with a Jinja chat template that replaces the one inside the model.", {
      short: "-c",
      isPath: true,
      example: "chat.jinja",
    }),
  ),
  threads: optional(
    integer(
      "Threads for decode; unset: the physical performance cores that the process may use, within its CPU quota.",
      { minimum: 1, maximum: 1024, example: 8 },
    ),
  ),
  threads_batch: optional(
    integer("Threads for prefill; unset: as many as `threads`.", {
      minimum: 1,
      maximum: 1024,
      example: 16,
    }),
  ),
  batch: integer("Tokens of one step, over all sequences.", { default: 2048, minimum: 32, maximum: 65_536 }),
  ubatch: optional(
    integer(
      "Tokens of one micro-batch; at most `batch`. Unset: 512, and 1024 for a model that is on devices as a whole, up to 2048 for a mixture of experts.",
      { minimum: 32, maximum: 65_536, example: 512 },
    ),
  ),
  prefill_share: number(
    "Part of a step's time that prompts take while answers are generated; 1 computes prompts first. More: earlier first tokens; less: smaller gaps between tokens.",
    { default: 0.5, minimum: 0.1, maximum: 1 },
  ),
  max_calls: integer(
    "Most function calls of one answer; it ends after them. An answer also ends where a call would repeat an earlier one word for word.",
    { default: ANSWER_CALLS_MAX, minimum: 1, maximum: 1024, example: 8 },
  ),
  prefix_cache_n: integer("Finished sequences kept in the prefix cache; 0 disables prefix sharing.", {
    default: 16,
    minimum: 0,
    maximum: 256,
  }),
  checkpoint_mb: integer(
    "MiB for checkpoints of recurrent and hybrid models and of partial windows, at most a quarter of the free memory; 0 saves none.",
    { default: 1024, minimum: 0, maximum: 1_048_576 },
  ),
  cache_ram: optional(
    integer(
      "MiB for copies of prefixes evicted from the KV cache; 0: none. Unset: an eighth of the free memory.",
      { minimum: 0, maximum: 16_777_216, example: 4096 },
    ),
  ),
  cache_scope: choice(
    ["key", "all"],
    "Requests that share the prefix cache: those of one API key, or `all`. With `all`, response times reveal prompts of other keys.",
    { default: "key", example: "all" },
  ),
  cache_disk: optional(
    text(
      "Folder for copies of the KV cache that outlive the process, shared by the models of one user; unset: none. The copies can be turned back into prompts and answers.",
      { isFolder: true, example: "kv-cache" },
    ),
  ),
  cache_disk_mb: integer("Size of that folder, in MiB.", {
    default: 20_480,
    minimum: 1,
    maximum: 1_073_741_824,
  }),
  determinism: choice(
    ["off", "batch-invariant"],
    "`batch-invariant`: a seed's answer is the same bit for bit, whatever else the server computes; on the CPU, slower. Models for which that is impossible are refused.",
    { default: "off", example: "batch-invariant" },
  ),
  hang_timeout: integer(
    "Seconds until an engine that neither answers nor uses the processor is killed and restarted; 0: never.",
    { default: 30, minimum: 0, maximum: 86_400 },
  ),
  no_kv_cache: toggle("Compute the whole sequence again for every token, for comparison; very slow."),
  jinja_explicit: later(optional(text("Jinja file used as it is.", { short: "-j", isPath: true }))),
  speculative: choice(
    ["auto", "off", "grammar", "ngram", "mtp"],
    "Speculative decoding: `grammar` drafts what a schema or a tool's parameters dictate, such as names and brackets; `ngram` also from the conversation, for answers that copy; `mtp` by `mtp_model`, or the prediction head in the model's file; `auto`: `mtp` where `mtp_model` is set, else `grammar` for answers at a temperature above 0 without a seed.",
    { default: "auto", example: "ngram" },
  ),
  mtp_model: optional(
    text(
      "Draft model (GGUF): a prediction head made for the model, or a small model with the same vocabulary.",
      { isPath: true, example: "draft.gguf" },
    ),
  ),
  mtp_n_predict: optional(
    integer(
      "Most draft tokens of one `mtp` pass. Unset: 3, and 8 for a model that is on devices as a whole.",
      { minimum: 1, maximum: 16, example: 3 },
    ),
  ),
  mtp_draft_sampling: choice(
    ["auto", "greedy", "probabilistic"],
    "Draft tokens of `mtp`: the most likely ones (`greedy`), or sampled like the answer, which is accepted more often above temperature 0 (`probabilistic`, `auto`).",
    { default: "auto" },
  ),
  mcp_config: optional(
    text("JSON file that lists the MCP servers whose tools models may call; see docs/mcp.md.", {
      isPath: true,
      env: "MCP_CONFIG_PATH",
      example: "mcp.json",
    }),
  ),
  agent: toggle("Enable all tools for models.", { aliases: ["agentic"] }),
  enable_search: toggle("Enable web search, for requests that ask for it."),
  search_provider: choice(
    ["duckduckgo", "searxng", "brave"],
    "Search provider: SearXNG needs `search_url`, Brave a key.",
    { default: "duckduckgo" },
  ),
  search_url: optional(
    text("Address of the search provider; unset: the usual one.", {
      form: { pattern: "^https?://.", words: "an http or https URL" },
      example: "http://127.0.0.1:8888",
    }),
  ),
  search_api_key: optional(
    text("API key of the search provider: as it is, env:NAME or path:FILE.", {
      secretAfter: "",
      example: "BSA…",
    }),
  ),
  search_embedding_model: optional(
    text(
      `Model that ranks passages of pages: \`${SEARCH_MODEL_NAME}\`, or a name in [[models]]; unset: by words alone.`,
      {
        example: SEARCH_MODEL_NAME,
      },
    ),
  ),
  enable_code_execution: toggle("Enable Python, for requests that ask for it."),
  code_exec_python: text("Python to run (on Windows usually `python`).", { default: PYTHON_BY_DEFAULT }),
  code_exec_timeout: integer("Seconds one execution may take.", {
    default: 60,
    minimum: 1,
    maximum: 86_400,
  }),
  code_exec_workdir: optional(
    text("Folder that Python runs in, for all sessions; unset: a fresh one for each.", {
      isFolder: true,
      example: "work",
    }),
  ),
  enable_shell: toggle("Enable the shell, for requests that ask for it."),
  shell_path: optional(
    text(
      "Shell to run (on Windows usually `cmd`); unset: bash where the search path has one, else /bin/sh.",
      {
        example: "/bin/sh",
      },
    ),
  ),
  shell_timeout: integer("Seconds one shell call may take; calls may ask for less.", {
    default: 600,
    minimum: 1,
    maximum: 86_400,
  }),
  shell_workdir: optional(
    text("Folder in which sessions get their folders; unset: the system's temporary folder.", {
      isFolder: true,
      example: "work",
    }),
  ),
  skills_dir: optional(
    text("Folder that holds uploaded skills; unset: one in the system's temporary folder.", {
      isFolder: true,
      example: "skills",
    }),
  ),
  agent_permission: choice(
    ["auto", "ask", "deny"],
    "Permission of the server's tools: run immediately, run after approval, or deny; requests can only be stricter.",
    { default: "auto", aliases: ["code_exec_permission"] },
  ),
  approval_scope: choice(
    ["session", "tool", "action"],
    "What an approval remembered for the session covers: all actions, the same tool, or also the same arguments.",
    { default: "session" },
  ),
});

const PagedAttn = section("Size and type of the KV cache. Name at most one of the three sizes.", {
  mode: choice(
    ["auto", "on", "off"],
    "`off` gives every sequence a fixed share instead of one common pool.",
    {
      default: "auto",
      flag: "--paged-attn",
    },
  ),
  context_len: optional(
    integer("Size in tokens, shared by all sequences.", {
      flag: "--pa-context-len",
      minimum: 256,
      example: 65_536,
    }),
  ),
  memory_mb: optional(integer("Size in MiB.", { flag: "--pa-memory-mb", minimum: 1, example: 4096 })),
  memory_fraction: optional(
    number(
      "Size as a share of the memory that is free once the weights are loaded; 0: room for one sequence of max_seq_len.",
      {
        flag: "--pa-memory-fraction",
        minimum: 0,
        maximum: 1,
        example: 0.5,
      },
    ),
  ),
  cache_type: choice(
    ["auto", ...CACHE_TYPES],
    "Number format of the cached keys and values; smaller ones save memory and cost precision.",
    { default: "auto" },
  ),
  block_size: later(optional(integer("Tokens of one block.", { minimum: 1 }))),
});

const Sandbox = section("Confinement of tool processes. See docs/sandbox.md.", {
  mode: choice(
    ["auto", "on", "off"],
    "`auto` enforces what this machine supports, `on` refuses to start if something is missing, `off` enforces nothing.",
    { default: "auto", flag: "--sandbox" },
  ),
  profile: optional(
    choice(
      ["restricted", "developer"],
      "`developer` can also read toolchains and has the network; unset: developer where a tool is on.",
      { flag: "--sandbox-profile", example: "restricted" },
    ),
  ),
  max_memory_mb: integer("MiB of memory of one Python session or shell call, over all its processes.", {
    default: 2048,
    minimum: 64,
    maximum: 16_777_216,
    flag: "--sb-max-memory-mb",
  }),
  max_cpu_secs: integer("Seconds of processor time of one Python session or shell call.", {
    default: 600,
    minimum: 1,
    maximum: 31_536_000,
    flag: "--sb-max-cpu-secs",
  }),
  max_procs: integer("Processes and threads of one Python session or shell call.", {
    default: 64,
    minimum: 1,
    maximum: 1_000_000,
    flag: "--sb-max-procs",
  }),
  network: optional(
    choice(
      ["none", "loopback", "full"],
      "Network of tools; `full` excludes this machine. Unset: full for developer, loopback for restricted.",
      { flag: "--sandbox-network", example: "none" },
    ),
  ),
});

const Global = section("General settings.", {
  seed: optional(
    integer("Random seed of requests without one; unset: a new one for each request.", {
      minimum: 0,
      maximum: 4_294_967_295,
      example: 42,
    }),
  ),
  auto_convert: toggle(
    "Convert a model of the hub that has safetensors and no GGUF file, as `svc convert` does, when it is first loaded.",
  ),
  token_source: text(
    "Where the token for the model hub comes from: `cache` (HF_TOKEN, or what `svc login` has stored), `none`, `env:NAME`, `path:FILE` or `literal:TOKEN`.",
    { default: "cache", secretAfter: "literal:" },
  ),
});

const Log = section("What is written for bug reports and data sets.", {
  payloads: optional(
    text(
      "File that requests for models and their answers are written to as JSON lines, without keys; it holds what people wrote. Unset: none is.",
      { flag: "--log", short: "-l", pathAfter: "", aliases: ["global.log"], example: "payloads.jsonl" },
    ),
  ),
  payloads_max_mb: integer("Size at which that file is renamed to FILE.1, in place of an older one.", {
    default: 100,
    minimum: 1,
    maximum: 1_000_000,
    flag: "--log-max-mb",
  }),
});

/** Schema of all settings, defaults included. */
export const Settings = Type.Object({
  command: choice(
    ["serve", "run"],
    "Command that `svc from-config -f FILE` runs: the server or the terminal chat.",
    {
      default: "serve",
      flag: false,
    },
  ),
  default_model_id: optional(
    text("Default model of requests: its name or its model_id.", { example: "chat" }),
  ),
  aliases: optional(
    list(
      AliasEntry,
      "Other names for models: [[aliases]] with name, model and optionally adapter and defaults (as in [models.defaults]), or NAME=MODEL (also with --alias). Patterns (`claude-*`) apply to text models.",
      { isLive: true, example: ["claude-*=default"] },
    ),
  ),
  keys: optional(
    list(
      KeyEntry,
      "Keys with names: [[keys]] with name, key (plain, env:NAME or path:FILE) or user (of user_header; `*`: all others), role (user or admin), models, rpm, tpm, streams, budget_tokens_per_day, weight, expires. `svc keys` keeps others in keys_file.",
      { isLive: true, secretAfter: "", flag: false, minItems: 1, example: ["anna=env:ANNAS_KEY"] },
    ),
  ),
  thinking: optional(
    tristate("Terminal chat: let the model reason first; unset: as the model does by itself.", {
      aliases: ["enable_thinking"],
      example: true,
    }),
  ),
  reasoning_effort: optional(
    choice(["off", "low", "medium", "high", "xhigh"], "Terminal chat: how long the model reasons.", {
      valueAliases: { none: "off" },
      example: "low",
    }),
  ),
  adapter: optional(text("Terminal chat: alias of the adapter to begin with.", { example: "red" })),
  assistant: optional(
    text("Terminal chat: name of the alias (`aliases`) to begin with, with its defaults.", {
      example: "pirate",
    }),
  ),
  server: Server,
  runtime: Runtime,
  paged_attn: PagedAttn,
  sandbox: Sandbox,
  global: Global,
  log: Log,
  models: Models,
});

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** All settings, complete: absent keys have taken their defaults. */
export type Settings = DeepReadonly<Static<typeof Settings>>;

/**
 * One `[[models]]` entry. After loadSettings, `model_id` is the absolute path of a GGUF file, a name on the hub (see
 * core/hub-id.ts) or BUILTIN_MODEL_ID.
 */
export type ModelSettings = Settings["models"][number];
