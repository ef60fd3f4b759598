// Completion bodies and streams.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { RunEvent, TokenLogprob } from "../../src/core/run.ts";
import { LogprobsLayout } from "../../src/dialects/completions/logprobs.ts";
import type { CompletionLayout } from "../../src/dialects/completions/request.ts";
import { completionBody } from "../../src/dialects/completions/response.ts";
import type { CompletionChunkResponse } from "../../src/dialects/completions/schema.ts";
import { completionStream } from "../../src/dialects/completions/stream.ts";
import type { AnswerMeta } from "../../src/dialects/shared/answer.ts";
import { AnswerReducer } from "../../src/dialects/shared/answer-reducer.ts";
import { fed, framed } from "../helpers/dialects.ts";
import { ACCEPTED, answer, end, FINISH, logprob, text } from "../helpers/run-events.ts";
import { parseDoneStream } from "../helpers/sse.ts";

const META: AnswerMeta = { id: "cmpl-1", created: 1_700_000_000, model: "tiny", fingerprint: "svc-test" };
const BASE = {
  id: "cmpl-1",
  object: "text_completion",
  created: 1_700_000_000,
  model: "tiny",
  system_fingerprint: "svc-test",
};
const PLAIN: CompletionLayout = { n: 1, withLogprobs: false, echo: false };
const RATED: CompletionLayout = { ...PLAIN, withLogprobs: true };

function streamed(events: readonly RunEvent[], layout = PLAIN, includeUsage = false): string {
  return framed(completionStream(META, { layout, choices: layout.n, includeUsage }), events);
}

function chunks(events: readonly RunEvent[], layout = PLAIN, includeUsage = false) {
  return parseDoneStream(streamed(events, layout, includeUsage)) as CompletionChunkResponse[];
}

const folded = (events: readonly RunEvent[], choices: number) => fed(new AnswerReducer({ choices }), events);

const body = (events: readonly RunEvent[], layout = PLAIN, choices = layout.n) =>
  completionBody([folded(events, choices)], META, layout);

const choice = (said: string, reason: string | null = null, index = 0) => ({
  index,
  text: said,
  logprobs: null,
  finish_reason: reason,
});

/** Text with one token. */
const drawn = (piece: string, chance: number, at = 0): RunEvent => ({
  type: "text",
  choice: at,
  text: piece,
  logprobs: [logprob(piece, chance)],
});

describe("chunks", () => {
  test("with include_usage: a separate final usage chunk, null in all others", () => {
    const { usage } = body(answer("Hi"));
    expect(chunks(answer("Hi"), PLAIN, true)).toEqual([
      { ...BASE, choices: [choice("Hi")], usage: null },
      { ...BASE, choices: [choice("", "stop")], usage: null },
      { ...BASE, choices: [], usage },
    ] as CompletionChunkResponse[]);
  });

  test("carry the lists of their own tokens, with continuous offsets", () => {
    const events = [ACCEPTED, drawn("Hé", -0.5), drawn("llo", -1), end("length"), FINISH];
    expect(chunks(events, RATED).map(({ choices }) => choices[0]?.logprobs)).toEqual([
      { tokens: ["Hé"], token_logprobs: [-0.5], top_logprobs: [{ Hé: -0.5 }], text_offset: [0] },
      { tokens: ["llo"], token_logprobs: [-1], top_logprobs: [{ llo: -1 }], text_offset: [2] },
      null,
    ]);
  });

  test("an error is in-band and ends the stream", () => {
    const error: RunEvent = { type: "error", error: { code: "engine_failed", message: "it died" } };
    const sent = parseDoneStream(streamed([ACCEPTED, text("Hi"), end(), error, text("more"), FINISH]));
    expect(sent.slice(-2)).toEqual([
      { ...BASE, choices: [choice("", "stop")] },
      { error: { code: "engine_failed", message: "it died", type: "server_error" } },
    ]);
  });
});

describe("bodies", () => {
  test("of an answer", () => {
    expect(body(answer("He", "llo"))).toEqual({
      ...BASE,
      object: "text_completion",
      choices: [{ index: 0, text: "Hello", logprobs: null, finish_reason: "stop" }],
      usage: expect.objectContaining({ prompt_tokens: 12, completion_tokens: 8, total_time_sec: 2.5 }),
    });
  });

  test("of several prompts: consecutive choice indexes, summed counts, times of the slowest run", () => {
    const quick: RunEvent = {
      type: "finish",
      usage: { promptTokens: 3, cachedTokens: 1, completionTokens: 2, reasoningTokens: 0 },
      timings: { promptSecs: 1, completionSecs: 0.5 },
    };
    const layout = { ...PLAIN, n: 2 };
    const first = [ACCEPTED, text("a", 0), text("b", 1), end("stop", 0), end("length", 1), FINISH];
    const second = [ACCEPTED, text("c", 0), text("d", 1), end("stop", 1), end("stop", 0), quick];
    const joined = completionBody([folded(first, 2), folded(second, 2)], META, layout);
    expect(joined.choices.map((one) => [one.index, one.text, one.finish_reason])).toEqual([
      [0, "a", "stop"],
      [1, "b", "length"],
      [2, "c", "stop"],
      [3, "d", "stop"],
    ]);
    expect(joined.usage).toMatchObject({
      prompt_tokens: 15,
      completion_tokens: 10,
      total_tokens: 25,
      prompt_tokens_details: { cached_tokens: 5 },
      total_time_sec: 2.5,
      total_prompt_time_sec: 1,
      total_completion_time_sec: 1.5,
    });
  });

  test("logprobs are empty lists if no token was sampled", () => {
    expect(body(answer(), RATED).choices[0]?.logprobs).toEqual({
      tokens: [],
      token_logprobs: [],
      top_logprobs: [],
      text_offset: [],
    });
  });
});

describe("best_of", () => {
  const run = (...choices: readonly (readonly RunEvent[])[]) => [
    ACCEPTED,
    ...choices.flat(),
    ...choices.map((_, at) => end("stop", at)),
    FINISH,
  ];

  test("returns the choices with the highest mean log probability, best first", () => {
    const events = run(
      [drawn("poor", -2, 0)],
      [drawn("lo", -1, 1), drawn("ng", -1, 1), drawn("er", -1, 1)], // lowest sum, highest mean
      [drawn("fine", -1.5, 2)],
      [], // no tokens
    );
    const best = body(events, { ...PLAIN, n: 3 }, 4).choices;
    expect(best.map((one) => [one.index, one.text])).toEqual([
      [0, "longer"],
      [1, "fine"],
      [2, "poor"],
    ]);
    expect(best.every((one) => one.logprobs === null)).toBe(true);
  });

  test("excludes the echoed prompt from the mean", () => {
    // The two prompt tokens are the same for all choices and would outweigh a short answer.
    const accepted: RunEvent = { type: "accepted", promptTokens: 2 };
    const echoed = (at: number) => [drawn("On", -9, at), drawn("ce", -9, at)];
    const events: readonly RunEvent[] = [
      accepted,
      ...echoed(0),
      ...[" a", " b", " c"].map((piece) => drawn(piece, -3, 0)),
      ...echoed(1),
      drawn(" x", -2, 1),
      end("stop", 0),
      end("stop", 1),
      FINISH,
    ];
    expect(body(events, { n: 1, withLogprobs: false, echo: true }, 2).choices[0]?.text).toBe("Once x");
  });
});

describe("lists of log probabilities", () => {
  const token = (piece: string, bytes: readonly number[]): TokenLogprob => ({
    ...logprob(piece, -1),
    bytes,
  });

  test("the first token of an echoed prompt has no probability", () => {
    const tokens = [logprob("On", 0, ["x", -1]), logprob("ce", -2, ["x", -1])];
    expect(new LogprobsLayout(true).next(tokens)).toEqual({
      tokens: ["On", "ce"],
      token_logprobs: [null, -2],
      top_logprobs: [null, { x: -1, ce: -2 }],
      text_offset: [0, 2],
    });
  });

  test("partial characters are named by their bytes and have the offset of the character", () => {
    const tokens = [
      token("a", [0x61]),
      token("\uFFFD", [0xf0, 0x9f]),
      token("\uFFFD\uFFFD", [0x8c, 0x8d]),
      token("b", [0x62]),
    ];
    const { tokens: names, text_offset } = new LogprobsLayout(false).next(tokens);
    expect(names).toEqual(["a", "bytes:\\xf0\\x9f", "bytes:\\x8c\\x8d", "b"]);
    expect(text_offset).toEqual([0, 1, 1, 2]);
  });

  test("a real U+FFFD keeps its name; names of Object.prototype members are safe", () => {
    const { tokens, top_logprobs } = new LogprobsLayout(false).next([
      logprob("\uFFFD", -1),
      logprob("__proto__", -Infinity, ["__proto__", -1], ["constructor", -2]),
    ]);
    expect(tokens).toEqual(["\uFFFD", "__proto__"]);
    expect(JSON.stringify(top_logprobs[1])).toBe('{"__proto__":-1,"constructor":-2}');
  });

  test("offsets count characters and never decrease, for any tokenization", () => {
    const cut = fc.tuple(fc.string({ unit: "grapheme" }), fc.array(fc.nat(8), { minLength: 1 }));
    fc.assert(
      fc.property(cut, ([said, lengths]) => {
        const bytes = [...new TextEncoder().encode(said)];
        const tokens: TokenLogprob[] = [];
        for (let at = 0; at < bytes.length;) {
          const part = bytes.slice(at, at + (lengths[tokens.length % lengths.length] ?? 0) + 1);
          tokens.push(token(new TextDecoder().decode(Uint8Array.from(part)), part));
          at += part.length;
        }
        const offsets = new LogprobsLayout(false).next(tokens).text_offset;
        let before = 0;
        for (const [index, offset] of offsets.entries()) {
          const head = new TextDecoder().decode(Uint8Array.from(bytes.slice(0, before)));
          const whole = Array.from(head.replace(/\uFFFD+$/u, "")).length; // code points
          if (!said.includes("\uFFFD")) expect(offset).toBe(whole);
          before += tokens[index]?.bytes.length ?? 0;
        }
        expect([...offsets].sort((a, b) => a - b)).toEqual(offsets);
      }),
    );
  });
});
