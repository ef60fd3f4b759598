// Stop strings of a choice's text: the request's end it anywhere, the chat template's only where the answer is complete.

import { expect, test } from "bun:test";
import type { RunEvent, RunRequest } from "../../../src/core/run.ts";
import { PLAIN_FORMAT } from "../../../ffi/llama/prompt.ts";
import type { RenderedPrompt } from "../../../src/worker/text/backend.ts";
import { TokenTexts } from "../../../src/worker/text/detokenize.ts";
import { ChoiceOutput } from "../../../src/worker/text/run-state.ts";
import { chatRequest } from "../../helpers/engine-run.ts";

/** Control tokens, beyond the ids of pieces. */
const CONTROLS = new Map([
  [100, "<|turn|>"],
  [101, "<|end|>"],
]);

/** A prompt whose answer is text alone. */
function plainPrompt(stops: readonly string[]): RenderedPrompt {
  const format = { ...PLAIN_FORMAT, stops };
  const nothing = { plan: () => undefined, parse: () => undefined, free: () => {} };
  return { tokens: new Int32Array(), media: [], format, plain: true, ...nothing };
}

function written(
  pieces: readonly string[],
  complete: (text: string) => boolean,
  stop: readonly string[] = [],
) {
  const events: RunEvent[] = [];
  const request: RunRequest = { ...chatRequest("Hello"), stop };
  const output = new ChoiceOutput(
    0,
    plainPrompt(["<role>"]),
    request,
    { texts: new TokenTexts(), maxCalls: 1, controls: () => CONTROLS },
    (event) => {
      events.push(event);
    },
  );
  let before = "";
  const ended = pieces.findIndex((piece, token) => {
    before += piece;
    return output.push(token, Buffer.from(piece), { mayEndWith: () => complete(before) });
  });
  output.end("stop", ended >= 0);
  const text = events.map((event) => (event.type === "text" ? event.text : "")).join("");
  return { text, ended };
}

test("a template's stop string is text while the answer is not complete", () => {
  const isComplete = (text: string): boolean => text.includes("}");
  expect(written(['{"a":"<ro', "le>x</ro", 'le>"}', "<role>", "more"], isComplete)).toEqual({
    text: '{"a":"<role>x</role>"}',
    ended: 3,
  });
  expect(written(["<role><ro", "le><role>", "}"], isComplete)).toEqual({
    text: "<role><role><role>}",
    ended: -1,
  });
});

test("a request's stop string ends the answer wherever it stands", () => {
  expect(written(["a<role>b", "STOP", "c"], () => false, ["STOP"])).toEqual({ text: "a<role>b", ended: 1 });
});

test.each(["<|turn|>", "<|turn|>user", "\n<|turn|>", "b<|end|><|turn|>"])(
  "%j: a stop string may contain control tokens, which have no text",
  (stop) => {
    const events: RunEvent[] = [];
    const tools = { texts: new TokenTexts(), maxCalls: 1, controls: () => CONTROLS };
    const request: RunRequest = { ...chatRequest("Hello"), stop: [stop] };
    const output = new ChoiceOutput(0, plainPrompt([]), request, tools, (event) => events.push(event));
    const tokens: [number, string][] = [
      [0, "ab"],
      ...(stop.startsWith("\n") ? [[1, "\n"] as [number, string]] : []),
    ];
    const all: [number, string][] = [...tokens, [101, ""], [100, ""], [2, "user"]];
    const written =
      stop.startsWith("\n") || stop.startsWith("<|turn|>") ? all.filter(([token]) => token !== 101) : all;
    const ended = written.findIndex(([token, text]) => output.push(token, Buffer.from(text)));
    expect(ended).toBeGreaterThan(0);
    output.end("stop", true);
    const text = events.map((event) => (event.type === "text" ? event.text : "")).join("");
    expect(text).toBe(stop.startsWith("b") ? "a" : "ab");
    expect(events.at(-1)).toMatchObject({ type: "choice_end", reason: "stop", stop });
  },
);

test("control tokens that no stop string is completed by leave no text", () => {
  const events: RunEvent[] = [];
  const tools = { texts: new TokenTexts(), maxCalls: 1, controls: () => CONTROLS };
  const request: RunRequest = { ...chatRequest("Hello"), stop: ["<|turn|>never"] };
  const output = new ChoiceOutput(0, plainPrompt([]), request, tools, (event) => events.push(event));
  for (const [token, text] of [
    [0, "a"],
    [100, ""],
    [1, "b"],
    [100, ""],
  ] as const)
    expect(output.push(token, Buffer.from(text))).toBe(false);
  output.end("length", false);
  expect(events.map((event) => (event.type === "text" ? event.text : "")).join("")).toBe("ab");
});
