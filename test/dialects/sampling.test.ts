// Fields common to chat and completions: sampling, stop strings, adapters and streaming.

import { describe, expect, test } from "bun:test";
import { DRY_BREAKERS_MAX, STOP_STRINGS_MAX } from "../../src/dialects/shared/limits.ts";
import type { RunRequest } from "../../src/core/run.ts";
import { DEFAULT_DRY, DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import { parseCompletionRequest } from "../../src/dialects/completions/request.ts";
import { chatBody, textBody } from "../helpers/app.ts";
import { type Body, refusalOf, type Rule, testRules } from "../helpers/rules.ts";

interface Dialect {
  readonly parse: (body: Body) => { readonly stream: boolean; readonly includeUsage: boolean };
  readonly run: (body: Body) => Omit<RunRequest, "prompt"> | undefined;
  readonly smallest: (extra: Body) => Body;
}

const DIALECTS: readonly (readonly [string, Dialect])[] = [
  ["chat", { parse: parseChatRequest, run: (body) => parseChatRequest(body).run, smallest: chatBody }],
  [
    "completions",
    {
      parse: parseCompletionRequest,
      run: (body) => parseCompletionRequest(body).runs[0],
      smallest: textBody,
    },
  ],
];

const FIELDS = {
  temperature: 0,
  top_p: 0.5,
  top_k: 40,
  min_p: 0.1,
  seed: 7,
  logit_bias: { "5": -100, "0": 1.5 },
  presence_penalty: -2,
  frequency_penalty: 2,
  repetition_penalty: 1.1,
  dry_multiplier: 0.8,
  dry_base: 2,
  dry_allowed_length: 0,
  dry_sequence_breakers: ["\n"],
};

const MEANING = {
  temperature: 0,
  topP: 0.5,
  topK: 40,
  minP: 0.1,
  seed: 7,
  logitBias: [
    { token: 0, bias: 1.5 },
    { token: 5, bias: -100 },
  ],
  presencePenalty: -2,
  frequencyPenalty: 2,
  repetitionPenalty: 1.1,
  dry: { multiplier: 0.8, base: 2, allowedLength: 0, sequenceBreakers: ["\n"] },
};

/** [fields, code, param, words that the message must contain] */
const RULES: readonly Rule[] = [
  [{ model: 5 }, "invalid_request", "model", "a string"],
  [{ temperature: -0.1 }, "invalid_request", "temperature", "at least 0", "at most 2", "-0.1"],
  [{ temperature: 2.1 }, "invalid_request", "temperature", "2.1"],
  [{ temperature: "hot" }, "invalid_request", "temperature", "a number", "a string"],
  [{ temperature: Infinity }, "invalid_request", "temperature"],
  [{ top_p: -0.1 }, "invalid_request", "top_p", "at least 0", "at most 1"],
  [{ top_p: 1.5 }, "invalid_request", "top_p"],
  [{ top_k: -2 }, "invalid_request", "top_k", "at least 0"],
  [{ top_k: 1.5 }, "invalid_request", "top_k", "an integer"],
  [{ min_p: 2 }, "invalid_request", "min_p"],
  [{ seed: 1.5 }, "invalid_request", "seed"],
  [{ stop: 3 }, "invalid_request", "stop", "a string or an array"],
  [{ stop: ["a", 3] }, "invalid_request", "stop[1]", "a string"],
  [{ stop: Array(STOP_STRINGS_MAX + 1).fill("x") }, "invalid_request", "stop", `${STOP_STRINGS_MAX}`],
  [{ n: 0 }, "invalid_request", "n", "at least 1"],
  [{ n: 129 }, "invalid_request", "n", "at most 128"],
  [{ logit_bias: [] }, "invalid_request", "logit_bias", "an object", "an array"],
  [{ logit_bias: { Hello: 1 } }, "invalid_request", "logit_bias", '"Hello"', "token ids"],
  [
    { logit_bias: Object.fromEntries(Array.from({ length: 32_769 }, (_, id) => [id, 1])) },
    "invalid_request",
    "logit_bias",
    "at most 32768",
  ],
  [{ logit_bias: { "-1": 1 } }, "invalid_request", "logit_bias", "token ids"],
  [{ logit_bias: { "1.5": 1 } }, "invalid_request", "logit_bias", "token ids"],
  [{ logit_bias: { "05": 1 } }, "invalid_request", "logit_bias", "token ids"],
  [{ logit_bias: { "4294967296": 1 } }, "invalid_request", "logit_bias", "4294967296"],
  [{ logit_bias: { "5": 101 } }, "invalid_request", "logit_bias.5", "at most 100", "101"],
  [{ logit_bias: { "5": -100.5 } }, "invalid_request", "logit_bias.5", "at least -100"],
  [{ logit_bias: { "5": "1" } }, "invalid_request", "logit_bias.5", "a number"],
  [{ presence_penalty: 2.1 }, "invalid_request", "presence_penalty", "at least -2", "at most 2"],
  [{ frequency_penalty: -3 }, "invalid_request", "frequency_penalty", "-3"],
  [{ repetition_penalty: 0 }, "invalid_request", "repetition_penalty", "greater than 0"],
  [{ repetition_penalty: "1" }, "invalid_request", "repetition_penalty", "a number"],
  [{ dry_multiplier: -1 }, "invalid_request", "dry_multiplier", "at least 0"],
  [{ dry_base: 0.5 }, "invalid_request", "dry_base", "at least 1"],
  [{ dry_allowed_length: -1 }, "invalid_request", "dry_allowed_length", "at least 0"],
  [{ dry_allowed_length: 1.5 }, "invalid_request", "dry_allowed_length", "an integer"],
  [{ dry_sequence_breakers: "\n" }, "invalid_request", "dry_sequence_breakers", "an array"],
  [{ dry_sequence_breakers: ["a", ""] }, "invalid_request", "dry_sequence_breakers[1]", "empty"],
  [
    { dry_sequence_breakers: Array(DRY_BREAKERS_MAX + 1).fill("x") },
    "invalid_request",
    "dry_sequence_breakers",
  ],
  [{ stream: "yes" }, "invalid_request", "stream", "true or false"],
  [{ stream_options: true }, "invalid_request", "stream_options", "an object"],
  [{ stream_options: { include_usage: 1 } }, "invalid_request", "stream_options.include_usage"],
  [{ truncate_sequence: 1 }, "invalid_request", "truncate_sequence"],
  [{ adapter: "" }, "invalid_request", "adapter", "empty"],
  [{ adapter: {} }, "missing_field", "adapter.generation"],
  [{ adapter: 5 }, "invalid_request", "adapter", "a string or an object"],
];

describe.each(DIALECTS)("%s", (_, { parse, run, smallest }) => {
  test("converts every field", () => {
    expect(run(smallest(FIELDS))?.sampling).toEqual({ ...DEFAULT_SAMPLING, ...MEANING });
    expect(run(smallest({ stop: ["a", "b", "a"], model: "m", truncate_sequence: true, n: 2 }))).toMatchObject(
      {
        stop: ["a", "b"],
        model: "m",
        truncate: true,
        choices: 2,
      },
    );
    expect(run(smallest({ stop: "end" }))?.stop).toEqual(["end"]);
    expect(run(smallest({ ignore_eos: true }))?.ignoreEnd).toBe(true);
    expect(run(smallest({ stop: "" }))?.stop).toEqual([]);
    expect(run(smallest({ stop: ["", "a"] }))?.stop).toEqual(["a"]);
    expect(run(smallest({ top_k: -1, top_p: 0 }))?.sampling).toMatchObject({ topK: 0, topP: 1e-7 });
    expect(run(smallest({ adapter: "a" }))?.adapter).toEqual({ alias: "a" });
    expect(run(smallest({ adapter: { generation: "g" } }))?.adapter).toEqual({ generation: "g" });
  });

  test.each(Object.keys(FIELDS))("%s takes its default if absent or null", (field) => {
    const rest: Body = { ...FIELDS };
    delete rest[field];
    expect(run(smallest({ ...rest, [field]: null }))).toEqual(run(smallest(rest)));
    expect(run(smallest({}))?.sampling).toEqual(DEFAULT_SAMPLING);
  });

  test("DRY uses its author's defaults", () => {
    expect(run(smallest({ dry_multiplier: 1 }))?.sampling.dry).toEqual({ ...DEFAULT_DRY, multiplier: 1 });
    expect(run(smallest({ dry_sequence_breakers: [] }))?.sampling.dry.sequenceBreakers).toEqual([]);
  });

  test.each([
    [0, 0],
    [-1, 2 ** 53 - 1],
    [2 ** 53 + 2, 2],
    [Number.MIN_SAFE_INTEGER, 1],
  ])("seed %d becomes %d", (seed, folded) => {
    expect(run(smallest({ seed }))?.sampling.seed).toBe(folded);
  });

  test("include_usage applies only to streams", () => {
    const options = { stream_options: { include_usage: true } };
    const both = { stream: true, includeUsage: true };
    expect(parse(smallest({ ...options, stream: true }))).toMatchObject(both);
    expect(parse(smallest(options)).includeUsage).toBe(false);
    expect(parse(smallest({ stream: true })).includeUsage).toBe(false);
  });

  describe("refuses", () =>
    testRules(
      parse,
      RULES.map(([fields, ...rest]) => [smallest(fields), ...rest]),
    ));

  test("an error does not quote other items of the field", () => {
    const secret = "a very private sentence";
    const refused = refusalOf(parse, smallest({ stop: [secret, 1] }));
    expect(JSON.stringify(refused.toBody())).not.toContain("private");
  });
});
