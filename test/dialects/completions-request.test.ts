import { describe, expect, test } from "bun:test";
import { COMPLETION_PROMPTS_MAX } from "../../src/dialects/shared/limits.ts";
import type { Prompt } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { parseCompletionRequest } from "../../src/dialects/completions/request.ts";
import { textBody } from "../helpers/app.ts";
import { type Body, type Rule, testRules } from "../helpers/rules.ts";

const call = (extra: Body) => parseCompletionRequest(textBody(extra));
const run = (extra: Body) => call(extra).runs[0];
const prompts = (prompt: unknown) => call({ prompt }).runs.map((one) => one.prompt);

describe("request", () => {
  test("a prompt alone takes all defaults", () => {
    expect(parseCompletionRequest({ prompt: "Once" })).toEqual({
      runs: [
        {
          model: "default",
          prompt: { type: "text", text: "Once" },
          sampling: DEFAULT_SAMPLING,
          stop: [],
          maxTokens: 16,
          choices: 1,
          truncate: false,
        },
      ],
      layout: { n: 1, withLogprobs: false, echo: false },
      stream: false,
      includeUsage: false,
    });
  });

  test.each<[unknown, readonly Prompt[]]>([
    ["", [{ type: "text", text: "" }]],
    [["a"], [{ type: "text", text: "a" }]],
    [
      ["a", "b"],
      [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    ],
    [[1, 2, 3], [{ type: "tokens", tokens: [1, 2, 3] }]],
    [[[1, 2, 3]], [{ type: "tokens", tokens: [1, 2, 3] }]],
    [
      [[1], [2, 3]],
      [
        { type: "tokens", tokens: [1] },
        { type: "tokens", tokens: [2, 3] },
      ],
    ],
  ])("prompt %j", (sent, meaning) => {
    expect(prompts(sent)).toEqual([...meaning]);
  });

  test("runs differ only in their prompts", () => {
    const { runs } = call({ prompt: ["a", "b"], seed: 7, temperature: 0.5, n: 2 });
    const [first, second] = runs;
    expect(first).toMatchObject({ choices: 2, sampling: { seed: 7, temperature: 0.5 } });
    expect<object>({ ...second, prompt: null }).toEqual({ ...first, prompt: null });
  });

  test("suffix is the text after the gap", () => {
    const gap: Prompt = { type: "text", text: "Once", suffix: "end" };
    expect(run({ suffix: "end" })?.prompt).toEqual(gap);
    expect(run({ prompt: ["Once"], suffix: "end" })?.prompt).toEqual(gap);
    expect(run({ prompt: ["a", "b"], suffix: "" })?.prompt).toEqual({ type: "text", text: "a" });
  });

  test("max_tokens 0 requires echo", () => {
    expect(run({ max_tokens: 0, echo: true })).toMatchObject({ maxTokens: 0, echo: true });
    expect(run({ max_tokens: null })?.maxTokens).toBe(16);
    expect(run({ max_tokens: -1 })).not.toHaveProperty("maxTokens");
    expect(run({ max_tokens: Number.MAX_SAFE_INTEGER })?.maxTokens).toBe(2 ** 31 - 1);
  });

  test("best_of generates more choices than it returns, ranked by log probability", () => {
    const { runs, layout } = call({ n: 2, best_of: 5 });
    expect(runs[0]).toMatchObject({ choices: 5, logprobs: { top: 0 } });
    expect(layout).toEqual({ n: 2, withLogprobs: false, echo: false });
    expect(call({ n: 2, best_of: 5, logprobs: 3 })).toMatchObject({
      runs: [{ choices: 5, logprobs: { top: 3 } }],
      layout: { withLogprobs: true },
    });
    const plain = call({ n: 2, best_of: 2, stream: true }).runs[0];
    expect(plain?.choices).toBe(2);
    expect(plain).not.toHaveProperty("logprobs");
  });

  test("logprobs 0 reports only the sampled tokens", () => {
    expect(call({ logprobs: 0 })).toMatchObject({
      runs: [{ logprobs: { top: 0 } }],
      layout: { withLogprobs: true },
    });
  });

  test("fields of other endpoints and unknown fields have no effect", () => {
    const others = {
      session_id: "s",
      files: [{ name: "a" }],
      web_search_options: {},
      agent_permission: "ask",
      max_tool_rounds: 3,
      reasoning_effort: "nonsense",
      enable_thinking: true,
      tools: [{ type: "code_interpreter" }],
      tool_choice: "required",
      user: 5,
      something_new: { deep: [1] },
    };
    expect(call(others)).toEqual(call({}));
  });
});

const RULES: readonly Rule[] = [
  [{}, "missing_field", "prompt", "required"],
  [{ prompt: null }, "invalid_request", "prompt", "null"],
  [{ prompt: 5 }, "invalid_request", "prompt", "a string or an array"],
  [{ prompt: {} }, "invalid_request", "prompt", "an object"],
  [{ prompt: [] }, "invalid_request", "prompt", "empty"],
  [{ prompt: [[]] }, "invalid_request", "prompt[0]", "empty"],
  [{ prompt: [[1], []] }, "invalid_request", "prompt[1]", "empty"],
  [{ prompt: ["a", 1] }, "invalid_request", "prompt[1]", "a string", "a number"],
  [{ prompt: [1, "a"] }, "invalid_request", "prompt[1]", "an integer", "a string"],
  [{ prompt: [[1], "a"] }, "invalid_request", "prompt[1]", "an array"],
  [{ prompt: [1.5] }, "invalid_request", "prompt[0]", "an integer"],
  [{ prompt: [1, -1] }, "invalid_request", "prompt[1]", "at least 0"],
  [{ prompt: [2 ** 31] }, "invalid_request", "prompt[0]", "at most"],
  [{ prompt: [[1, -1]] }, "invalid_request", "prompt[0][1]", "at least 0"],
  [
    { prompt: Array(COMPLETION_PROMPTS_MAX + 1).fill("a") },
    "invalid_request",
    "prompt",
    `${COMPLETION_PROMPTS_MAX}`,
  ],
  [{ prompt: Array(100).fill("a"), n: 20 }, "invalid_request", "prompt", "100", "20", "1024"],
  [textBody({ prompt: ["a", "b"], suffix: "c" }), "contradictory_fields", "suffix", "a single string"],
  [textBody({ prompt: [1, 2], suffix: "c" }), "contradictory_fields", "suffix", "a single string"],
  [textBody({ echo: true, suffix: "c" }), "contradictory_fields", "suffix", "echo"],
  [textBody({ suffix: 5 }), "invalid_request", "suffix", "a string"],
  [textBody({ max_tokens: 0 }), "contradictory_fields", "max_tokens", "echo"],
  [textBody({ max_tokens: -2 }), "invalid_request", "max_tokens", "at least 0"],
  [textBody({ max_tokens: "5" }), "invalid_request", "max_tokens", "an integer", "a string"],
  [textBody({ echo: 1 }), "invalid_request", "echo", "true or false"],
  [textBody({ logprobs: 6 }), "invalid_request", "logprobs", "at most 5"],
  [textBody({ logprobs: true }), "invalid_request", "logprobs", "an integer", "a boolean"],
  [textBody({ best_of: 0 }), "invalid_request", "best_of", "at least 1"],
  [textBody({ best_of: 129 }), "invalid_request", "best_of", "at most 128"],
  [textBody({ n: 3, best_of: 2 }), "contradictory_fields", "best_of", "n 3"],
  [textBody({ best_of: 2, stream: true }), "contradictory_fields", "best_of", "stream"],
];

describe("refused", () => testRules(parseCompletionRequest, RULES));
