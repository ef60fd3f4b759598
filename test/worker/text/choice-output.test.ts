// Stop strings of a choice's text: the request's end it anywhere, the chat template's only where the answer is complete.

import { expect, test } from "bun:test";
import type { RunEvent, RunRequest } from "../../../src/core/run.ts";
import { PLAIN_FORMAT } from "../../../ffi/llama-prompt.ts";
import type { RenderedPrompt } from "../../../src/worker/text/backend.ts";
import { TokenTexts } from "../../../src/worker/text/detokenize.ts";
import { ChoiceOutput } from "../../../src/worker/text/run-state.ts";
import { chatRequest } from "../../helpers/engine-run.ts";

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
    { texts: new TokenTexts(), maxCalls: 1 },
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
