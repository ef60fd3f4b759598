import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { RunEvent } from "../../src/core/run.ts";
import { INFILL_ANSWER_TOKENS } from "../../src/dialects/shared/limits.ts";
import { IndentCut } from "../../src/dialects/infill/indent.ts";
import { type InfillLayout, parseInfillRequest } from "../../src/dialects/infill/request.ts";
import { infillAnswer, infillBody } from "../../src/dialects/infill/response.ts";
import { infillStream } from "../../src/dialects/infill/stream.ts";
import { fed, framed } from "../helpers/dialects.ts";
import { type Rule, testRules } from "../helpers/rules.ts";
import { ACCEPTED, end, FINISH, text } from "../helpers/run-events.ts";

const BODY = { input_prefix: "a\n", input_suffix: "\nz" };

describe("request", () => {
  test("prefix and suffix alone take llama.cpp's sampling and no token cap", () => {
    const { run, layout, stream } = parseInfillRequest(BODY);
    expect(run).toMatchObject({
      model: "default",
      prompt: { type: "gap", before: "a\n", after: "\nz", files: [], answerTokens: INFILL_ANSWER_TOKENS },
      sampling: { temperature: 0.8, topK: 40, topP: 0.95, minP: 0.05, repetitionPenalty: 1 },
      stop: [],
      choices: 1,
    });
    expect(run.maxTokens).toBeUndefined();
    expect(run.lineDeadlineMs).toBeUndefined();
    expect({ layout, stream }).toEqual({ layout: { indent: 0 }, stream: false });
  });

  test("converts the fields that editor plugins send", () => {
    const { run, layout } = parseInfillRequest({
      id_slot: 0,
      ...BODY,
      input_extra: [{ filename: "b.py", text: "b = 1", time: [1, 2] }, { text: "c" }],
      prompt: "  x = ",
      n_predict: 128,
      stop: [],
      n_indent: 2,
      top_k: 40,
      top_p: 0.9,
      stream: false,
      samplers: ["top_k", "top_p", "infill"],
      cache_prompt: true,
      t_max_prompt_ms: 500,
      t_max_predict_ms: 250,
      seed: -1,
      response_fields: ["content", "timings/prompt_n"],
    });
    expect(run).toMatchObject({
      prompt: {
        before: "a\n  x = ",
        files: [
          { name: "b.py", text: "b = 1" },
          { name: "file", text: "c" },
        ],
        answerTokens: 128,
      },
      maxTokens: 128,
      lineDeadlineMs: 250,
      sampling: { topP: 0.9 },
    });
    expect(run.sampling.seed).toBeUndefined();
    expect(layout).toEqual({ indent: 2, fields: ["content", "timings/prompt_n"] });
  });

  test("n_predict -1 means no cap, 0 no answer", () => {
    expect(parseInfillRequest({ ...BODY, n_predict: -1 }).run.maxTokens).toBeUndefined();
    expect(parseInfillRequest({ ...BODY, n_predict: 0 }).run.maxTokens).toBe(0);
  });
});

const RULES: readonly Rule[] = [
  [{ input_suffix: "" }, "missing_field", "input_prefix", "required"],
  [{ input_prefix: "" }, "missing_field", "input_suffix", "required"],
  [{ ...BODY, prompt: 5 }, "invalid_request", "prompt", "a string"],
  [{ ...BODY, input_extra: [{}] }, "missing_field", "input_extra[0].text", "required"],
  [{ ...BODY, n_predict: -2 }, "invalid_request", "n_predict", "at least -1"],
  [{ ...BODY, t_max_predict_ms: -1 }, "invalid_request", "t_max_predict_ms", "at least 0"],
  [{ ...BODY, response_fields: "content" }, "invalid_request", "response_fields", "an array"],
];
describe("refused", () => testRules(parseInfillRequest, RULES));

describe("response", () => {
  const bodyOf = (layout: InfillLayout, events: readonly RunEvent[]) =>
    infillBody(fed(infillAnswer(layout), events), "tiny", layout);
  const filled = (layout: InfillLayout) =>
    bodyOf(layout, [ACCEPTED, text("1\n"), text("  2"), end(), FINISH]);

  test("has the fields that plugins show", () => {
    expect(filled({ indent: 0 })).toEqual({
      index: 0,
      content: "1\n  2",
      stop: true,
      model: "tiny",
      tokens_predicted: 8,
      tokens_evaluated: 12,
      tokens_cached: 20,
      has_new_line: true,
      stop_type: "eos",
      stopping_word: "",
      timings: expect.objectContaining({ cache_n: 4, prompt_n: 8, predicted_n: 8 }),
    });
  });

  test("has only the requested fields, under their paths", () => {
    const fields = ["content", "timings/prompt_n", "truncated", "timings/none", "content/length"];
    expect(filled({ indent: 0, fields })).toEqual({ content: "1\n  2", "timings/prompt_n": 8 });
    const stream = infillStream("tiny", { indent: 0, fields: ["stop"] });
    expect(framed(stream, [ACCEPTED, end(), FINISH])).toBe('data: {"stop":true}\n\n');
  });

  test("has the reason why the answer ended", () => {
    const endings = [end("length"), { ...end(), stop: ";" }] as const;
    const layout = { indent: 0, fields: ["stop_type", "stopping_word"] };
    const told = endings.map((ending) => bodyOf(layout, [ACCEPTED, ending, FINISH]));
    expect(told).toEqual([
      { stop_type: "limit", stopping_word: "" },
      { stop_type: "word", stopping_word: ";" },
    ]);
  });
});

describe("minimum indentation", () => {
  const cut = (indent: number, pieces: readonly string[]): string => {
    const cutter = new IndentCut(indent);
    return pieces.map((piece) => cutter.push(piece)).join("") + cutter.end();
  };

  test.each([
    ["x = 1\n  y = 2\nz = 3", 2, "x = 1\n  y = 2"],
    ["x\n\n  y\n \nz", 2, "x\n\n  y"],
    ["x\n\ty", 1, "x\n\ty"],
    ["x\ny", 0, "x\ny"],
    ["x\n  ", 2, "x\n  "],
    ["x", 8, "x"],
  ])("%j at least %d", (whole, indent, expected) => expect(cut(indent, [whole])).toBe(expected));

  test("does not depend on how the text is split into deltas", () => {
    const text = fc.array(fc.constantFrom("a", " ", "\n", "  b"));
    fc.assert(
      fc.property(text, fc.nat(3), (pieces, indent) => {
        expect(cut(indent, pieces)).toBe(cut(indent, [pieces.join("")]));
      }),
    );
  });
});
