// Words of effort for chat templates of several forms: what each prints is a function here.

import { expect, test } from "bun:test";
import { Efforts } from "../../ffi/llama/efforts.ts";
import type { ReasoningEffort } from "../../src/core/run.ts";

type Template = (word: string | undefined) => string | undefined;
type Asked = ReasoningEffort | "off";

/** The words that a template gets for each effort. */
function words(template: Template): Record<Asked, string | undefined> {
  const efforts = new Efforts(template);
  const word = (effort: ReasoningEffort): string | undefined => efforts.wordOf({ enabled: true, effort });
  return {
    off: efforts.wordOf({ enabled: false }),
    low: word("low"),
    medium: word("medium"),
    high: word("high"),
    xhigh: word("xhigh"),
  };
}

const among =
  (known: readonly string[], other: string): Template =>
  (word) =>
    `Reasoning effort: ${known.find((one) => one === word) ?? other}`;

const TEMPLATES: readonly (readonly [string, Template, Record<Asked, string | undefined>])[] = [
  [
    "prints any word",
    (word = "medium") => `Reasoning: ${word}`,
    { off: "low", low: "low", medium: "medium", high: "high", xhigh: "high" },
  ],
  [
    "knows two words, and names the higher one where it knows none",
    among(["high"], "Max"),
    { off: "high", low: "high", medium: "high", high: "high", xhigh: "max" },
  ],
  [
    "refuses words that it does not know",
    (word = "low") => (["no_think", "low", "high"].includes(word) ? `effort=${word}` : undefined),
    { off: "no_think", low: "low", medium: "high", high: "high", xhigh: "high" },
  ],
  [
    "knows the highest word only",
    (word) => (word === "max" ? "Think as long as you can." : ""),
    { off: undefined, low: "low", medium: "medium", high: "high", xhigh: "max" },
  ],
  [
    "has no efforts",
    () => "Hi",
    { off: undefined, low: "low", medium: "medium", high: "high", xhigh: "xhigh" },
  ],
];

test.each(TEMPLATES)("a template that %s", (_what, template, expected) => {
  expect(words(template)).toEqual(expected);
});

test("a request without an effort leaves it to the template", () => {
  const efforts = new Efforts(() => {
    throw new Error("nothing has to be found out");
  });
  expect(efforts.wordOf({ enabled: true })).toBeUndefined();
});
