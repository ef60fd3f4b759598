// Kinds of upstream servers, and the request fields that each supports in each API. Sources: the servers' references and
// request schemas (vLLM, SGLang, llama-server, Ollama), OpenAI's and Anthropic's references, and src/dialects for svc.

import type { EmbedRequest, RankRequest, RunRequest } from "../core/run.ts";
import type { UpstreamDialect } from "./options.ts";

/** `other`: any server with an OpenAI-compatible API, of which only the common fields are assumed. */
export type EngineName = "svc" | "vllm" | "sglang" | "llama-server" | "ollama" | "other";

/** `owned_by` of the cards in a server's model list. */
const OWNERS: ReadonlyMap<string, EngineName> = new Map([
  ["svc", "svc"],
  ["vllm", "vllm"],
  ["sglang", "sglang"],
  ["llamacpp", "llama-server"],
  ["library", "ollama"],
]);

export function engineOf(ownedBy: string | undefined): EngineName {
  return OWNERS.get(ownedBy ?? "") ?? "other";
}

/** A field of a request that some servers do not honour, named as in chat completions. */
export type Field =
  | "adapter"
  | "completions"
  | "continue_final_message"
  | "determinism"
  | "dry_multiplier"
  | "echo"
  | "fingerprint"
  | "frequency_penalty"
  | "grammar"
  | "infill"
  | "logit_bias"
  | "logprobs"
  | "max_tokens_per_doc"
  | "min_p"
  | "n"
  | "presence_penalty"
  | "prompt"
  | "regex"
  | "repetition_penalty"
  | "response_format"
  | "seed"
  | "stop"
  | "suffix"
  | "tool_choice"
  | "top_k"
  | "truncate_sequence";

const OPENAI: readonly Field[] = ["logit_bias", "logprobs", "tool_choice"];
const PENALTIES: readonly Field[] = ["frequency_penalty", "presence_penalty"];

/** What every server has in its chat completions and completions. */
const COMMON: readonly Field[] = ["completions", ...PENALTIES, "response_format", "seed", "stop"];

const VLLM_AND_SGLANG: readonly Field[] = [
  ...COMMON,
  ...OPENAI,
  "continue_final_message",
  "echo",
  "min_p",
  "n",
  "prompt",
  "regex",
  "repetition_penalty",
  "top_k",
];

/** svc's sampling fields, constraints and fingerprints, which all of its APIs have. */
const OF_SVC: readonly Field[] = [
  ...PENALTIES,
  "determinism",
  "dry_multiplier",
  "fingerprint",
  "grammar",
  "logit_bias",
  "min_p",
  "regex",
  "repetition_penalty",
  "response_format",
  "seed",
  "stop",
  "tool_choice",
  "top_k",
  "truncate_sequence",
];

/** llama-server's sampling fields, in its chat completions and its Responses API, which copies what it does not convert. */
const OF_LLAMA_SERVER: readonly Field[] = [
  ...PENALTIES,
  "dry_multiplier",
  "logit_bias",
  "min_p",
  "repetition_penalty",
  "response_format",
  "seed",
  "stop",
  "tool_choice",
  "top_k",
];

type Honoured = Readonly<Record<EngineName, ReadonlySet<Field>>>;

const CHAT: Honoured = {
  svc: new Set([
    ...COMMON,
    ...OF_SVC,
    "continue_final_message",
    "echo",
    "logprobs",
    "max_tokens_per_doc",
    "n",
    "prompt",
    "suffix",
  ]),
  vllm: new Set([...VLLM_AND_SGLANG, "truncate_sequence"]),
  sglang: new Set(VLLM_AND_SGLANG),
  "llama-server": new Set([
    ...COMMON,
    ...OF_LLAMA_SERVER,
    "continue_final_message",
    "logprobs",
    "n",
    "prompt",
  ]),
  ollama: new Set([...COMMON, "suffix"]),
  other: new Set([...COMMON, ...OPENAI, "echo", "n", "suffix"]),
};

const MESSAGES_API: readonly Field[] = ["continue_final_message", "stop", "tool_choice", "top_k"];

const MESSAGES: Honoured = {
  svc: new Set([...MESSAGES_API, ...OF_SVC]),
  vllm: new Set([...MESSAGES_API, "response_format"]),
  sglang: new Set(MESSAGES_API),
  "llama-server": new Set(MESSAGES_API),
  ollama: new Set(["stop", "top_k"]),
  other: new Set([...MESSAGES_API, "response_format"]),
};

const RESPONSES_API: readonly Field[] = ["logprobs", "response_format", "tool_choice", "truncate_sequence"];

const RESPONSES: Honoured = {
  svc: new Set([...RESPONSES_API, ...OF_SVC]),
  vllm: new Set([...RESPONSES_API, "logit_bias", "regex", "repetition_penalty", "seed", "stop", "top_k"]),
  sglang: new Set([...RESPONSES_API, ...PENALTIES, "min_p", "repetition_penalty", "stop", "top_k"]),
  "llama-server": new Set(OF_LLAMA_SERVER),
  ollama: new Set(["response_format"]),
  other: new Set(RESPONSES_API),
};

const HONOURED: Readonly<Record<UpstreamDialect, Honoured>> = {
  chat: CHAT,
  messages: MESSAGES,
  responses: RESPONSES,
};

/** Fields of a request for vectors or scores. Neither depends on the API that generates. */
export function vectorFieldsOf(request: EmbedRequest | RankRequest): ReadonlyMap<Field, string> {
  const fields = new Map<Field, string>();
  if (request.truncate) fields.set("truncate_sequence", "truncate_sequence");
  if ("documents" in request && request.documentTokens !== undefined)
    fields.set("max_tokens_per_doc", "max_tokens_per_doc");
  return fields;
}

/** Fields that a request needs, each once, with the name that the client knows the field by. */
export function fieldsOf(request: RunRequest): ReadonlyMap<Field, string> {
  const fields = new Map<Field, string>();
  const need = (field: Field, isNeeded: boolean, param: string = field): void => {
    if (isNeeded) fields.set(field, param);
  };
  const { prompt, sampling, constraint } = request;
  need("adapter", request.adapter !== undefined);
  need("logit_bias", sampling.logitBias.length > 0);
  need("frequency_penalty", sampling.frequencyPenalty !== 0);
  need("presence_penalty", sampling.presencePenalty !== 0);
  need("seed", sampling.seed !== undefined);
  need("stop", request.stop.length > 0);
  need("repetition_penalty", sampling.repetitionPenalty !== 1);
  need("dry_multiplier", sampling.dry.multiplier > 0);
  need("top_k", sampling.topK > 0);
  need("min_p", sampling.minP > 0);
  need("n", request.choices > 1);
  need("logprobs", request.logprobs !== undefined);
  need("truncate_sequence", request.truncate);
  need("echo", request.echo === true);
  need("determinism", request.batchInvariant === true);
  need("fingerprint", request.fingerprint === true);
  const param = request.constraintParam ?? "grammar";
  need("regex", constraint?.type === "regex", param);
  need("grammar", constraint?.type === "lark" || constraint?.type === "grammars", param);
  need("response_format", constraint?.type === "json_schema", request.constraintParam);
  // A completion has no response_format: its schema goes through `grammar`, which only svc has.
  need("grammar", prompt.type !== "chat" && constraint?.type === "json_schema", param);
  if (prompt.type === "chat") {
    const choice = prompt.toolChoice;
    need("continue_final_message", prompt.answerPrefix !== undefined);
    need("tool_choice", choice.type === "required" || (choice.type === "named" && choice.required));
  } else {
    need("completions", true, "prompt");
    need("prompt", prompt.type === "tokens");
    need("suffix", prompt.type === "text" && prompt.suffix !== undefined);
    need("infill", prompt.type === "gap", "input_prefix");
  }
  return fields;
}

/** The first of the fields that a server does not honour in its API. */
export function unsupportedBy(
  engine: EngineName,
  dialect: UpstreamDialect,
  fields: ReadonlyMap<Field, string>,
): Field | undefined {
  const honoured = HONOURED[dialect][engine];
  return fields.keys().find((field) => !honoured.has(field));
}
