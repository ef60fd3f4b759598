// Fields that bodies of chat completions and completions share. Pure.

import type { Constraint } from "../core/constraint.ts";
import { defined } from "../core/defined.ts";
import type { RunRequest, Thinking } from "../core/run.ts";
import { llamaNameOf, paramOf, type SamplingName, usedOptions } from "../core/sampling.ts";
import { type EngineName, isHonouredByAll } from "./engines.ts";
import type { ServerFacts } from "./facts.ts";

export type Body = Readonly<Record<string, unknown>>;

type Request = RunRequest<unknown>;

/** Sampling and ending. What is neutral is left to the server. */
export function commonFields(request: Request, engine: EngineName): Body {
  const { choices, truncate } = request;
  return {
    ...samplingFields(request, engine),
    ...(choices === 1 ? {} : { n: choices }),
    ...(truncate ? truncation(engine) : {}),
  };
}

/**
 * Sampling options and stop strings, where they change something: models that reason refuse neutral ones, too, and some refuse two of
 * them together; the same bits in every batch, and a fingerprint of them.
 */
function samplingFields({ sampling, stop, batchInvariant, fingerprint }: Request, engine: EngineName): Body {
  const { dry, logitBias } = sampling;
  const nameOf = (name: SamplingName): string =>
    engine === "llama-server" && !isHonouredByAll(name) ? llamaNameOf(name) : name;
  return {
    ...Object.fromEntries(usedOptions(sampling).map((name) => [nameOf(name), sampling[paramOf(name)]])),
    ...(dry.multiplier > 0
      ? {
          dry_multiplier: dry.multiplier,
          dry_base: dry.base,
          dry_allowed_length: dry.allowedLength,
          dry_sequence_breakers: dry.sequenceBreakers,
        }
      : {}),
    ...(logitBias.length === 0
      ? {}
      : { logit_bias: Object.fromEntries(logitBias.map(({ token, bias }) => [String(token), bias])) }),
    ...defined({ seed: sampling.seed }),
    ...(stop.length === 0 ? {} : { stop }),
    ...(batchInvariant === true ? { determinism: "batch-invariant" } : {}),
    ...defined({ fingerprint }),
  };
}

/** Cuts a prompt at the context. */
export function truncation(engine: EngineName): Body {
  return engine === "vllm" ? { truncate_prompt_tokens: -1 } : { truncate_sequence: true };
}

/** Thinking by variables of chat templates, under the names that Qwen, GLM and others, and DeepSeek have for it. */
export function templateFields({ enabled, effort }: Thinking): Body {
  return {
    chat_template_kwargs: { enable_thinking: enabled, thinking: enabled },
    ...(effort === undefined ? {} : { reasoning_effort: effort === "xhigh" ? "high" : effort }),
  };
}

/** Constraint of the answer. */
export function constraintFields({ constraint, constraintParam }: Request, facts: ServerFacts): Body {
  if (constraint === undefined) return {};
  const isGrammar = constraintParam === "grammar";
  if (constraint.type === "json_schema" && !(isGrammar && facts.engine === "svc")) {
    const { schema, strict = isGrammar } = constraint;
    return { response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict } } };
  }
  if (constraint.type === "regex" && facts.engine !== "svc") return regexField(constraint.pattern, facts);
  return { grammar: grammarOf(constraint) };
}

/** Guided decoding under the server's name for it. vLLM renamed it in 0.11. */
function regexField(pattern: string, { engine, version }: ServerFacts): Body {
  if (engine === "sglang") return { regex: pattern };
  const isOld = version !== undefined && version[0] === 0 && version[1] < 11;
  return isOld ? { guided_regex: pattern } : { structured_outputs: { regex: pattern } };
}

function grammarOf(constraint: Constraint): Body {
  switch (constraint.type) {
    case "json_schema":
      return { type: "json_schema", value: constraint.schema };
    case "regex":
      return { type: "regex", value: constraint.pattern };
    case "lark":
      return { type: "lark", value: constraint.grammar };
    case "grammars":
      return {
        type: "llguidance",
        value: {
          grammars: constraint.grammars.map(({ name, jsonSchema, larkGrammar }) => ({
            ...defined({ name, json_schema: jsonSchema, lark_grammar: larkGrammar }),
          })),
        },
      };
  }
}

/** Asks for progress where the server tells it; others refuse or ignore the field. */
export function progressFields({ progress }: Request, engine: EngineName): Body {
  const tells = engine === "svc" || engine === "llama-server";
  return progress === true && tells ? { return_progress: true } : {};
}
