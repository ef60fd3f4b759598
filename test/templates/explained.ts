// Where prompts differ from those of the independent renderer, and why.

/** What templates are told of the vocabulary in these tests. */
export const EDGE = { bos: "<|endoftext|>", eos: "<|endoftext|>" } as const;

/** What the independent renderer says of templates that use something which it does not have. */
const BEYOND: readonly RegExp[] = [
  /^Unknown (?:Object|Array)Value filter/,
  /^Object keys must be strings/,
  /^Expected iterable or object type in for loop: got UndefinedValue/,
  /^Cannot perform operation \+ on undefined values/,
  /^Cannot call something that is not a function: got UndefinedValue/,
  /^Cannot apply filter "\w+" to type: (?:Undefined|Null)Value/,
  /^Cannot unpack non-iterable type: TupleValue/,
];

/** Whether a refusal is the renderer's own and none of the template's. */
export function isBeyondRenderer(refusal: string): boolean {
  return BEYOND.some((form) => form.test(refusal));
}

const RESPONSES_IN_TURN = "llama.cpp writes results into the turn of the call, as the family's guide has it";

const ESCAPES = "text that is marked as safe escapes what is added to it, in Python too";

const LEAST_EFFORT =
  "thinking off is the lowest effort where a template has no switch, or the switch that it has";

/** Differences by template and case. Those of conversations that are normalized are not listed. */
export const EXPLAINED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "google-gemma-4-31B-it-interleaved": {
    "tool result": RESPONSES_IN_TURN,
    "after a tool result": RESPONSES_IN_TURN,
    "parallel results": RESPONSES_IN_TURN,
  },
  "meetkai-functionary-medium-v3.1": {
    tools: ESCAPES,
    "tool result": ESCAPES,
    "after a tool result": ESCAPES,
    "parallel results": ESCAPES,
  },
  "mistralai-Ministral-3-14B-Reasoning-2512": {
    "reasoning history":
      "llama.cpp hands reasoning over as a thinking block, the form that the template knows",
  },
  "Kimi-K3": { "thinking off": LEAST_EFFORT },
  Cohere2MoE: { "thinking off": LEAST_EFFORT },
  "muse-glimmer": { "thinking off": LEAST_EFFORT },
  "upstage-Solar-Open-100B": { "thinking off": LEAST_EFFORT },
  "openai-gpt-oss-120b": { "thinking off": LEAST_EFFORT },
};

/** Templates that show no calls, or none that llama.cpp can read. Their tools are described in the generic format. */
export const GENERIC: readonly string[] = [
  "google-gemma-2-2b-it",
  "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
  "ibm-granite-granite-3.3-2B-Instruct",
  "HuggingFaceTB-SmolLM3-3B",
  "llama-cpp-rwkv-world",
  "microsoft-Phi-3.5-mini-instruct",
];

/** Templates that write calls and show no tools. The system message describes them, with a call as the template writes it. */
export const DESCRIBED: readonly string[] = [
  "fireworks-ai-llama-3-firefunction-v2",
  "deepseek-ai-DeepSeek-V3.1",
  "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
];
