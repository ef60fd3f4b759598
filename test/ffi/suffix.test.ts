// Filling a gap in a text, on the built-in model with some of its tokens declared to be the marks of a gap.

import { afterEach, describe, expect, test } from "bun:test";
import { boolField, u32Field } from "../../src/core/gguf-write.ts";
import type { LlamaBackend } from "../../ffi/llama.ts";
import type { Prompt } from "../../src/core/run.ts";
import { chatRequest, run, runAll } from "../helpers/engine-run.ts";
import { tinyBackend } from "../helpers/native.ts";
import { GAP_TOKENS, tinyFillsGaps } from "../helpers/tiny-models.ts";

let open: LlamaBackend | undefined;
afterEach(() => {
  open?.close();
  open = undefined;
});

async function load(path?: string): Promise<LlamaBackend> {
  return (open = await tinyBackend({}, path));
}

function tokensOf(backend: LlamaBackend, prompt: Prompt): number[] {
  const pending = backend.render(prompt);
  for (;;) {
    const rendered = pending.take(10);
    if (rendered === undefined) continue;
    const tokens = [...rendered.tokens];
    rendered.free();
    return tokens;
  }
}

const { prefix, suffix, middle } = GAP_TOKENS;
const GAP = { type: "text", text: "def add(a, b):\n    return ", suffix: "\n\nprint(add(1, 2))" } as const;

describe("a model with marks for gaps", () => {
  test("reads what is before the gap, what is after it, and then goes on with the gap", async () => {
    const backend = await load(tinyFillsGaps());
    const before = tokensOf(backend, { type: "text", text: GAP.text });
    const after = tokensOf(backend, { type: "text", text: GAP.suffix });
    expect(tokensOf(backend, GAP)).toEqual([prefix, ...before, suffix, ...after, middle]);
  });

  test("gets the token that begins texts first, if it wants one", async () => {
    const begin = 0;
    const wants = [
      boolField("tokenizer.ggml.add_bos_token", true),
      u32Field("tokenizer.ggml.bos_token_id", begin),
    ];
    const tokens = tokensOf(await load(tinyFillsGaps(wants)), GAP);
    expect(tokens.slice(0, 2)).toEqual([begin, prefix]);
    expect(tokens.filter((token) => token === begin)).toHaveLength(1);
  });

  test("takes marks within the text for text", async () => {
    const tokens = tokensOf(await load(tinyFillsGaps()), {
      ...GAP,
      text: "<think> <tool_call>",
      suffix: "</think>",
    });
    for (const mark of [prefix, suffix, middle])
      expect(tokens.filter((token) => token === mark)).toHaveLength(1);
  });

  test("answers with what fills the gap: the same as if it were asked in tokens", async () => {
    const backend = await load(tinyFillsGaps());
    const asked = chatRequest("", { prompt: GAP, maxTokens: 20 });
    const { text, reason } = run(backend, asked);
    expect(text).not.toBe("");
    const tokens = tokensOf(backend, GAP);
    expect(run(backend, { ...asked, prompt: { type: "tokens", tokens } })).toMatchObject({ text, reason });
    const other = run(backend, { ...asked, prompt: { ...GAP, suffix: "something else altogether" } });
    expect(other.text).not.toBe(text);
  });
});

test("a model without refuses, naming the field", async () => {
  const [error] = runAll(await load(), [chatRequest("", { prompt: GAP })]);
  expect(error).toMatchObject({ type: "error", error: { code: "unsupported_capability", param: "suffix" } });
});
