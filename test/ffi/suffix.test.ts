// Filling a gap in a text, on the built-in model with some of its tokens declared to be the marks of a gap.

import { afterEach, describe, expect, test } from "bun:test";
import { boolField, u32Field } from "../../src/lora/gguf-write.ts";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { Prompt } from "../../src/core/run.ts";
import { chatRequest, run, runAll } from "../helpers/engine-run.ts";
import { tinyBackend } from "../helpers/native.ts";
import { FILE_TOKENS, GAP_TOKENS, tinyFillsGaps, tinyKnowsFiles } from "../helpers/tiny-models.ts";

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

describe("a model with fill-in-the-middle tokens", () => {
  test("reads prefix, suffix, and then generates the middle", async () => {
    const backend = await load(tinyFillsGaps());
    const before = tokensOf(backend, { type: "text", text: GAP.text });
    const after = tokensOf(backend, { type: "text", text: GAP.suffix });
    expect(tokensOf(backend, GAP)).toEqual([prefix, ...before, suffix, ...after, middle]);
  });

  test("gets the BOS token first, if it uses one", async () => {
    const begin = 0;
    const wants = [
      boolField("tokenizer.ggml.add_bos_token", true),
      u32Field("tokenizer.ggml.bos_token_id", begin),
    ];
    const tokens = tokensOf(await load(tinyFillsGaps(wants)), GAP);
    expect(tokens.slice(0, 2)).toEqual([begin, prefix]);
    expect(tokens.filter((token) => token === begin)).toHaveLength(1);
  });

  test("treats fill-in-the-middle tokens in the text as text", async () => {
    const tokens = tokensOf(await load(tinyFillsGaps()), {
      ...GAP,
      text: "<think> <tool_call>",
      suffix: "</think>",
    });
    for (const mark of [prefix, suffix, middle])
      expect(tokens.filter((token) => token === mark)).toHaveLength(1);
  });

  test("gives the same answer as a prompt of tokens", async () => {
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

const FILES = [
  { name: "a.py", text: "one = 1\n" },
  { name: "b.py", text: "two = 2\n" },
];
const AMONG_FILES = {
  type: "gap",
  before: GAP.text,
  after: GAP.suffix,
  files: FILES,
  answerTokens: 16,
} as const;

describe("fill-in-the-middle with other files", () => {
  const textOf = (backend: LlamaBackend, tokens: readonly number[]): string =>
    Buffer.concat(tokens.map((token) => backend.tokenBytes(token, true))).toString();

  test("puts them first, each with its name, in the repository format", async () => {
    const backend = await load(tinyKnowsFiles());
    const tokens = tokensOf(backend, AMONG_FILES);
    const { repository, file } = FILE_TOKENS;
    const word = (token: number): string => textOf(backend, [token]);
    const names = [word(file), word(file), word(file)];
    expect(tokens[0]).toBe(repository);
    expect(tokens.filter((token) => token === file)).toHaveLength(FILES.length + 1);
    const gap = tokensOf(backend, { type: "text", text: GAP.text, suffix: GAP.suffix });
    expect(tokens.slice(-gap.length)).toEqual(gap);
    expect(textOf(backend, tokens.slice(1, -gap.length))).toBe(
      `project\n${names[0]}a.py\none = 1\n${names[1]}b.py\ntwo = 2\n${names[2]}current\n`,
    );
  });

  test("puts them first under headings if the model has no file tokens", async () => {
    const backend = await load(tinyFillsGaps());
    const tokens = tokensOf(backend, AMONG_FILES);
    const head = textOf(backend, tokens.slice(0, tokens.indexOf(prefix)));
    expect(head).toBe("\n\n# a.py\none = 1\n\n\n# b.py\ntwo = 2\n\n\n# current\n");
  });

  test("is truncated to the context: the text next to the gap stays", async () => {
    const backend = await load(tinyKnowsFiles());
    const near = "near = 3\n";
    const huge = Array.from({ length: backend.contextTokens }, (_, i) => `x${i} = ${i}\n`).join("");
    const prompt = {
      ...AMONG_FILES,
      before: huge + near,
      after: near + huge,
      files: [{ name: "c.py", text: huge + near }],
    };
    const tokens = tokensOf(backend, prompt);
    expect(tokens.length).toBeLessThanOrEqual(backend.contextTokens - prompt.answerTokens);
    expect(tokens.length).toBeGreaterThan(backend.contextTokens / 2);
    const [before = "", rest = ""] = textOf(backend, tokens.slice(tokens.indexOf(prefix) + 1, -1)).split(
      textOf(backend, [suffix]),
    );
    expect(before).toEndWith(near);
    expect(rest).toStartWith(near);
    expect(textOf(backend, tokens.slice(0, tokens.indexOf(prefix)))).toContain(near);
  });

  test("keeps its prefix over many keystrokes, also when its start is truncated", async () => {
    const backend = await load(tinyKnowsFiles());
    const lines = Array.from({ length: backend.contextTokens }, (_, i) => `x${i} = ${i}\n`).join("");
    const beginnings = ["y", "y ", "y =", "y = ", "y = 4"].map((typed) =>
      tokensOf(backend, { ...AMONG_FILES, before: lines + typed }).slice(0, backend.contextTokens / 4),
    );
    for (const beginning of beginnings) expect(beginning).toEqual(beginnings[0] ?? []);
  });
});

test("an answer ends with its line after the deadline, not before", async () => {
  const backend = await load();
  const prompt = { type: "text", text: "Count from 1 to 20, one a line:\n1\n2\n3\n" } as const;
  const asked = chatRequest("", { prompt, maxTokens: 40, ignoreEnd: true });
  const whole = run(backend, asked);
  const late = run(backend, { ...asked, lineDeadlineMs: 0 });
  expect(whole.text.slice(0, -1)).toContain("\n");
  expect(late).toEqual({ ...whole, text: whole.text.slice(0, whole.text.indexOf("\n") + 1) });
  expect(run(backend, { ...asked, lineDeadlineMs: 600_000 })).toEqual(whole);
});

test("a model without them rejects the request and names the field", async () => {
  const [error] = runAll(await load(), [chatRequest("", { prompt: GAP })]);
  expect(error).toMatchObject({ type: "error", error: { code: "unsupported_capability", param: "suffix" } });
});
