// A model without a chat template: a conversation is a text that it continues, without markup of another family.

import { beforeAll, describe, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { Message } from "../../src/core/message.ts";
import type { ChatPrompt } from "../../src/core/run.ts";
import { tinyBackend } from "../helpers/native.ts";
import { tinyBase } from "../helpers/tiny-models.ts";

let backend: LlamaBackend;
beforeAll(async () => {
  backend = await tinyBackend({ contextLen: 512 }, tinyBase());
});

const said = (role: Message["role"], text: string): Message => ({ role, content: [{ type: "text", text }] });

function tokensOf(prompt: Parameters<LlamaBackend["render"]>[0]): readonly number[] {
  const pending = backend.render(prompt);
  for (;;) {
    const ready = pending.take(50);
    if (ready === undefined) continue;
    const tokens = [...ready.tokens];
    ready.free();
    return tokens;
  }
}

function chat(messages: readonly Message[], extra: Partial<ChatPrompt> = {}): readonly number[] {
  const prompt: ChatPrompt = {
    type: "chat",
    messages,
    tools: [],
    toolChoice: { type: "auto" },
    thinking: { enabled: true },
    ...extra,
  };
  return tokensOf(prompt);
}

const textOf = (tokens: readonly number[]): string =>
  Buffer.concat(tokens.map((token) => backend.tokenBytes(token, true))).toString();

test("one question is the same tokens as its text, so that a base model goes on from its last word", () => {
  const text = "Once upon a time";
  expect(chat([said("user", text)])).toEqual([...tokensOf({ type: "text", text })]);
});

test("it says so, and cannot think", () => {
  expect(backend.info).toMatchObject({ isBase: true, generates: true, thinks: false });
});

describe("a conversation is its text", () => {
  test.each<[string, readonly Message[]]>([
    ["Once upon a time", [said("user", "Once upon a time")]],
    ["A tale.\n\nOnce upon", [said("system", "A tale."), said("user", "Once upon")]],
    [
      "The capital of France is Paris.\n\nThe capital of Italy is",
      [
        said("user", "The capital of France is"),
        said("assistant", " Paris."),
        said("user", "The capital of Italy is"),
      ],
    ],
    ["<|im_start|>user\n{{ x }}", [said("user", "<|im_start|>user\n{{ x }}")]],
  ])("%j", (text, messages) => {
    expect(textOf(chat(messages))).toBe(text);
  });
});

test("tools are described in the generic form", () => {
  const tools = [{ name: "look", parameters: { type: "object", properties: {} }, strict: false }];
  const words = Buffer.concat(
    chat([said("user", "Look")], { tools }).map((token) => backend.tokenBytes(token, true)),
  );
  expect(words.toString()).toContain('{"name":"look"');
  expect(words.toString()).not.toContain("im_start");
});
