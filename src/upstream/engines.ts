// Kinds of upstream servers, and the request fields that each supports. Sources: the servers' references and request schemas
// (vLLM, SGLang, llama-server, Ollama), OpenAI's reference, and src/dialects for svc.

import type { EmbedRequest, RankRequest, RunRequest } from "../core/run.ts";
import {
  type ForeignServer,
  SAMPLING_OPTIONS,
  type SamplingName,
  samplingOption,
  usedOptions,
} from "../core/sampling.ts";

export type EngineName = "svc" | ForeignServer;

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
  | SamplingName
  | "adapter"
  | "completions"
  | "continue_final_message"
  | "determinism"
  | "dry_multiplier"
  | "echo"
  | "fingerprint"
  | "grammar"
  | "infill"
  | "logit_bias"
  | "logprobs"
  | "max_tokens_per_doc"
  | "n"
  | "prompt"
  | "regex"
  | "response_format"
  | "seed"
  | "stop"
  | "suffix"
  | "tool_choice"
  | "truncate_sequence";

const OPENAI: readonly Field[] = ["logit_bias", "logprobs", "tool_choice"];

/** What every server has in its chat completions and completions. */
const COMMON: readonly Field[] = ["completions", "response_format", "seed", "stop"];

const VLLM_AND_SGLANG: readonly Field[] = [
  ...COMMON,
  ...OPENAI,
  "continue_final_message",
  "echo",
  "n",
  "prompt",
  "regex",
];

const HONOURED: Readonly<Record<EngineName, ReadonlySet<Field>>> = {
  svc: new Set([
    ...COMMON,
    "continue_final_message",
    "determinism",
    "dry_multiplier",
    "echo",
    "fingerprint",
    "grammar",
    "logit_bias",
    "logprobs",
    "max_tokens_per_doc",
    "n",
    "prompt",
    "regex",
    "suffix",
    "tool_choice",
    "truncate_sequence",
  ]),
  vllm: new Set([...VLLM_AND_SGLANG, "truncate_sequence"]),
  sglang: new Set(VLLM_AND_SGLANG),
  "llama-server": new Set([...COMMON, ...OPENAI, "continue_final_message", "dry_multiplier", "n", "prompt"]),
  ollama: new Set([...COMMON, "suffix"]),
  other: new Set([...COMMON, ...OPENAI, "echo", "n", "suffix"]),
};

/** Fields of a request for vectors or scores. */
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
  for (const name of usedOptions(sampling)) need(name, !isHonouredByAll(name));
  need("seed", sampling.seed !== undefined);
  need("stop", request.stop.length > 0);
  need("dry_multiplier", sampling.dry.multiplier > 0);
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

/** Whether every server has the option. */
export function isHonouredByAll(name: SamplingName): boolean {
  return samplingOption(name).servers === "all";
}

/** The first of the fields that a server does not honour. */
export function unsupportedBy(engine: EngineName, fields: ReadonlyMap<Field, string>): Field | undefined {
  return fields.keys().find((field) => !honours(engine, field));
}

function honours(engine: EngineName, field: Field): boolean {
  if (!isSamplingName(field)) return HONOURED[engine].has(field);
  const { servers } = samplingOption(field);
  return engine === "svc" || servers === "all" || servers.includes(engine);
}

function isSamplingName(field: Field): field is SamplingName {
  return field in SAMPLING_OPTIONS;
}
