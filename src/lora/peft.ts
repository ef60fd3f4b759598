// adapter_config.json of PEFT: reads the fields that change the arithmetic, rejects unsupported ones by name.
// Fields: huggingface.co/docs/peft, LoraConfig.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { orNull } from "../core/schema-fields.ts";
import { AdapterError } from "./adapter-error.ts";

const rank = Type.Integer({ minimum: 1 });

const LORA = "LORA";
/** It becomes a number of 32 bits. */
const F32_MAX = 3.4e38;

const PeftConfig = Type.Object({
  peft_type: Type.Literal(LORA),
  r: rank,
  lora_alpha: Type.Number({ exclusiveMinimum: 0, maximum: F32_MAX }),
  use_rslora: orNull(Type.Boolean()),
  use_dora: orNull(Type.Boolean()),
  fan_in_fan_out: orNull(Type.Boolean()),
  lora_bias: orNull(Type.Boolean()),
  bias: orNull(Type.String()),
  rank_pattern: orNull(Type.Record(Type.String(), rank)),
  alpha_pattern: orNull(Type.Record(Type.String(), Type.Number({ minimum: -F32_MAX, maximum: F32_MAX }))),
  modules_to_save: orNull(Type.Array(Type.String())),
  alora_invocation_tokens: orNull(Type.Array(Type.Integer())),
  layer_replication: orNull(Type.Array(Type.Unknown())),
  trainable_token_indices: Type.Optional(Type.Unknown()),
});
type PeftConfig = Static<typeof PeftConfig>;

/** Scales of an adapter's modules. */
export interface LoraConfig {
  readonly alpha: number;
  /** The factor of B·A for a module. `rank`: of its tensors. Throws if the file has another rank. */
  scaleOf(module: string, rank: number): number;
}

/** Parses adapter_config.json. Throws AdapterError for a missing, wrong or unsupported field. */
export function readPeftConfig(text: string): LoraConfig {
  const config = parse(text);
  refuseUnsupported(config);
  return {
    alpha: config.lora_alpha,
    scaleOf(module, rankOfTensors) {
      const expected = patternValue(config.rank_pattern, module) ?? config.r;
      if (expected !== rankOfTensors) {
        throw new AdapterError(
          `the tensors of ${module} have the rank ${rankOfTensors}, but adapter_config.json says ${expected}`,
        );
      }
      const alpha = patternValue(config.alpha_pattern, module) ?? config.lora_alpha;
      return alpha / (config.use_rslora === true ? Math.sqrt(rankOfTensors) : rankOfTensors);
    },
  };
}

function parse(text: string): PeftConfig {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new AdapterError("adapter_config.json is not JSON");
  }
  const kind = kindOf(json);
  if (kind !== undefined && kind.toUpperCase() !== LORA)
    throw new AdapterError(
      `adapter_config.json is of the kind ${kind}; only LoRA (peft_type ${LORA}) can be served`,
    );
  if (kind !== undefined) json = { ...(json as object), peft_type: LORA };
  if (Value.Check(PeftConfig, json)) return json;
  const first = Value.Errors(PeftConfig, json).First();
  const field = first === undefined || first.path === "" ? "it" : first.path.slice(1).replaceAll("/", ".");
  throw new AdapterError(
    `adapter_config.json is not a LoRA configuration: ${field} is missing or has a wrong value`,
  );
}

/** `peft_type` where it is a word. */
function kindOf(json: unknown): string | undefined {
  const kind = typeof json === "object" && json !== null && "peft_type" in json ? json.peft_type : undefined;
  return typeof kind === "string" ? kind.slice(0, 40) : undefined;
}

function refuseUnsupported(config: PeftConfig): void {
  const has = (value: readonly unknown[] | null | undefined) => (value ?? []).length > 0;
  const reasons: readonly (readonly [isAsked: boolean, what: string])[] = [
    [config.use_dora === true, "use_dora: weight magnitudes cannot be applied while serving"],
    [config.fan_in_fan_out === true, "fan_in_fan_out: transposed weights are not supported"],
    [
      config.lora_bias === true || (config.bias ?? "none") !== "none",
      "bias: trained biases are not supported",
    ],
    [has(config.modules_to_save), "modules_to_save: fully trained modules are not supported"],
    [has(config.alora_invocation_tokens), "alora_invocation_tokens: activated adapters are not supported"],
    [has(config.layer_replication), "layer_replication: the model's layers cannot be repeated while serving"],
    [isSet(config.trainable_token_indices), "trainable_token_indices: trained tokens are not supported"],
  ];
  const reason = reasons.find(([isAsked]) => isAsked);
  if (reason !== undefined) throw new AdapterError(`adapter_config.json uses ${reason[1]}`);
}

function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

/** PEFT matches a pattern's key as a regular expression at the end of a module's name, after a dot or at the start. */
function patternValue(
  pattern: Readonly<Record<string, number>> | null | undefined,
  module: string,
): number | undefined {
  for (const [key, value] of Object.entries(pattern ?? {})) if (matchesEnd(key, module)) return value;
  return undefined;
}

function matchesEnd(key: string, module: string): boolean {
  try {
    return new RegExp(`(?:^|.*\\.)(?:${key})$`).test(module);
  } catch {
    return module === key || module.endsWith(`.${key}`);
  }
}
