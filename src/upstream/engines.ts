// Kinds of upstream servers, and the request fields that each supports. Sources: the servers'
// API references (vLLM, SGLang, llama-server, Ollama) and src/dialects for svc.

import type { RunRequest } from "../core/run.ts";
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
  | "dry_multiplier"
  | "echo"
  | "frequency_penalty"
  | "grammar"
  | "infill"
  | "logit_bias"
  | "logprobs"
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

const EVERYWHERE_BUT_OLLAMA: readonly Field[] = ["logit_bias", "logprobs", "tool_choice"];

/** What every server has in its chat completions and completions. */
const COMMON: ReadonlySet<Field> = new Set([
  "completions",
  "frequency_penalty",
  "presence_penalty",
  "response_format",
  "seed",
  "stop",
]);

const VLLM_AND_SGLANG: readonly Field[] = [
  ...EVERYWHERE_BUT_OLLAMA,
  "continue_final_message",
  "echo",
  "min_p",
  "n",
  "prompt",
  "regex",
  "repetition_penalty",
  "top_k",
];

const HONOURED: Readonly<Record<EngineName, ReadonlySet<Field>>> = {
  svc: new Set([
    ...EVERYWHERE_BUT_OLLAMA,
    "continue_final_message",
    "dry_multiplier",
    "echo",
    "grammar",
    "min_p",
    "n",
    "prompt",
    "regex",
    "repetition_penalty",
    "suffix",
    "top_k",
    "truncate_sequence",
  ]),
  vllm: new Set([...VLLM_AND_SGLANG, "truncate_sequence"]),
  sglang: new Set(VLLM_AND_SGLANG),
  "llama-server": new Set([
    ...EVERYWHERE_BUT_OLLAMA,
    "continue_final_message",
    "dry_multiplier",
    "min_p",
    "prompt",
    "repetition_penalty",
    "top_k",
  ]),
  ollama: new Set(["suffix"]),
  other: new Set([...EVERYWHERE_BUT_OLLAMA, "echo", "n", "suffix"]),
};

/** In the other APIs, only what these themselves define is assumed, whatever the server. */
const HONOURED_BY: Readonly<Record<Exclude<UpstreamDialect, "chat">, ReadonlySet<Field>>> = {
  messages: new Set(["continue_final_message", "stop", "tool_choice", "top_k"]),
  responses: new Set(["logprobs", "response_format", "tool_choice", "truncate_sequence"]),
};

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
  const honoured = dialect === "chat" ? HONOURED[engine] : HONOURED_BY[dialect];
  return fields.keys().find((field) => !honoured.has(field) && (dialect !== "chat" || !COMMON.has(field)));
}
