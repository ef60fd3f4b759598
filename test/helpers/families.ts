// Model families: whose template it is, how its models write, and what it or llama.cpp cannot do. Read by the tests of
// chat templates.

import {
  apertus,
  coder,
  cohere,
  commandR,
  deepseek,
  deepseekR1,
  dsml,
  functionary31,
  functionary32,
  gemma4,
  glm,
  gptOss,
  hermes,
  kimi,
  lfm2,
  llama3,
  minimaxM1,
  minimaxM2,
  minimaxM3,
  ministral,
  mistralSmall,
  nemo,
  nemotron2,
  seed,
  tagged,
  THINK,
  TIGHT,
  type Write,
} from "./written.ts";

/** What a family may be unable to do. */
export type Ability =
  | "history" // earlier calls and their results are in the prompt
  | "call" // a tool call is read
  | "parallel" // two calls in one answer
  | "text before call"
  | "required" // a call can be forced
  | "grammar under auto"; // once a call begins, it must be one to a declared tool

export interface Family {
  readonly name: string;
  /** File in llama.cpp's models/templates, without .jinja. */
  readonly template: string;
  readonly write: Write;
  /** Its models reason. */
  readonly reasons: boolean;
  /** The prompt depends on whether thinking is on. */
  readonly switches: boolean;
  /** The prompt depends on the effort. */
  readonly effort: boolean;
  /** The id of a call comes after its arguments, too late for a stream. */
  readonly lateIds: boolean;
  /** Why it cannot do something. It must still lose nothing of the answer. */
  readonly limits: Readonly<Partial<Record<Ability, string>>>;
}

const PLAIN: Omit<Family, "name" | "template" | "write"> = {
  reasons: false,
  switches: false,
  effort: false,
  lateIds: false,
  limits: {},
};
const THINKS = { reasons: true };
const SWITCHES = { reasons: true, switches: true };

function family(name: string, template: string, write: Write, rest: Partial<Family> = {}): Family {
  return { ...PLAIN, name, template, write, ...rest };
}

function llama(version: string, template: string): Family {
  return family(`Llama ${version}`, template, tagged(undefined, llama3), {
    limits: { parallel: "the format has one call an answer" },
  });
}

export const FAMILIES: readonly Family[] = [
  family("Qwen3", "Qwen-Qwen3-0.6B", tagged(THINK, hermes), SWITCHES),
  family("QwQ", "Qwen-QwQ-32B", tagged(THINK, hermes), SWITCHES),
  family("Qwen2.5", "Qwen-Qwen2.5-7B-Instruct", tagged(undefined, hermes)),
  family("Qwen3-Coder", "Qwen3-Coder", tagged(undefined, coder)),
  family("Qwen3.5", "Qwen3.5-4B", tagged(THINK, coder), SWITCHES),
  family("Hermes 2 Pro", "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", tagged(undefined, hermes)),
  family("Hermes 3", "NousResearch-Hermes-3-Llama-3.1-8B-tool_use", tagged(undefined, hermes)),
  llama("3.1", "meta-llama-Llama-3.1-8B-Instruct"),
  llama("3.2", "meta-llama-Llama-3.2-3B-Instruct"),
  llama("3.3", "meta-llama-Llama-3.3-70B-Instruct"),
  family("Mistral Nemo", "mistralai-Mistral-Nemo-Instruct-2407", tagged(undefined, nemo), { lateIds: true }),
  family("Mistral Small 3.2", "Mistral-Small-3.2-24B-Instruct-2506", tagged(undefined, mistralSmall, "")),
  family(
    "Ministral 3",
    "mistralai-Ministral-3-14B-Reasoning-2512",
    tagged({ open: "[THINK]", close: "[/THINK]" }, ministral, ""),
    THINKS,
  ),
  family("Devstral", "unsloth-mistral-Devstral-Small-2507", tagged(undefined, ministral, "")),
  family("gpt-oss", "openai-gpt-oss-120b", gptOss, {
    ...THINKS,
    effort: true,
    limits: { parallel: "the format has one call an answer" },
  }),
  family(
    "DeepSeek R1 distill (Llama)",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
    tagged(THINK, hermes),
    THINKS,
  ),
  family(
    "DeepSeek R1 distill (Qwen)",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
    tagged(THINK, deepseekR1),
    SWITCHES,
  ),
  family("DeepSeek V3.1", "deepseek-ai-DeepSeek-V3.1", tagged(TIGHT, deepseek, ""), SWITCHES),
  family("DeepSeek V3.2", "deepseek-ai-DeepSeek-V3.2", tagged(TIGHT, dsml("function_calls"), "\n\n"), {
    ...SWITCHES,
  }),
  family("DeepSeek V4", "deepseek-ai-DeepSeek-V4", tagged(TIGHT, dsml("tool_calls"), "\n\n"), {
    ...SWITCHES,
  }),
  family("Gemma 2", "google-gemma-2-2b-it", tagged(undefined, hermes)),
  family(
    "Gemma 4",
    "google-gemma-4-31B-it",
    tagged({ open: "<|channel>thought\n", close: "<channel|>" }, gemma4, ""),
    SWITCHES,
  ),
  family("GLM 4.6", "GLM-4.6", tagged({ open: "\n<think>", close: "</think>\n" }, glm("\n")), SWITCHES),
  family("GLM 4.7", "GLM-4.7-Flash", tagged(TIGHT, glm(""), ""), SWITCHES),
  family("Granite 3.3", "ibm-granite-granite-3.3-2B-Instruct", tagged(TIGHT, hermes), THINKS),
  family("Granite 4.0", "ibm-granite-granite-4.0", tagged(undefined, hermes)),
  family("Granite 4.1", "ibm-granite-granite-4.1", tagged(undefined, hermes)),
  family("Kimi K2", "moonshotai-Kimi-K2", tagged(TIGHT, kimi, ""), {
    ...THINKS,
  }),
  family("Kimi K2 Thinking", "Kimi-K2-Thinking", tagged(TIGHT, kimi, ""), {
    ...THINKS,
  }),
  family("Command R+", "CohereForAI-c4ai-command-r-plus-tool_use", tagged(undefined, commandR)),
  family(
    "Command R7B",
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use",
    cohere("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    SWITCHES,
  ),
  family("Cohere 2 MoE", "Cohere2MoE", cohere("<|START_TEXT|>", "<|END_TEXT|>"), {
    ...SWITCHES,
  }),
  family("Phi 3.5", "microsoft-Phi-3.5-mini-instruct", tagged(undefined, hermes)),
  family("MiniMax M1", "MiniMax-M1", tagged(undefined, minimaxM1), {
    limits: {
      parallel: "llama.cpp wants a comma where the template has a line break: the second arrives as text",
    },
  }),
  family("MiniMax M2", "MiniMax-M2", tagged(THINK, minimaxM2), {
    ...THINKS,
  }),
  family(
    "MiniMax M3",
    "MiniMax-M3",
    tagged({ open: "<mm:think>", close: "</mm:think>" }, minimaxM3, ""),
    THINKS,
  ),
  family("Nemotron Nano 2", "NVIDIA-Nemotron-Nano-v2", tagged(THINK, nemotron2), THINKS),
  family("Nemotron 3 Nano", "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", tagged(THINK, coder), {
    ...SWITCHES,
  }),
  family("LFM2", "LFM2-8B-A1B", tagged(undefined, lfm2, ""), {
    limits: { history: "the template leaves earlier calls out" },
  }),
  family("LFM2.5", "LFM2.5-8B-A1B", tagged(TIGHT, lfm2, ""), THINKS),
  family("SmolLM3", "HuggingFaceTB-SmolLM3-3B", tagged(THINK, hermes), SWITCHES),
  family(
    "Seed-OSS",
    "ByteDance-Seed-OSS",
    tagged({ open: "<seed:think>", close: "</seed:think>\n" }, seed),
    SWITCHES,
  ),
  family("Apertus", "Apertus-8B-Instruct", tagged(undefined, apertus, ""), { switches: true }),
  family("Functionary 3.1", "meetkai-functionary-medium-v3.1", tagged(undefined, functionary31, "")),
  family("Functionary 3.2", "meetkai-functionary-medium-v3.2", functionary32, {
    limits: {
      "text before call": "llama.cpp forgets the >>> between them: the call arrives as text",
      parallel: "llama.cpp forgets the >>> between them: the second arrives as text",
    },
  }),
];
