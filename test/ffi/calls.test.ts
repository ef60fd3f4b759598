// Calls of every chat template that llama.cpp ships, by a model that writes anything its grammar allows: a sample. All of it:
// `npm run test:schemas`.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { GrammarEngine } from "../../ffi/llama/grammar.ts";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { type CallRow, TemplateUnderTest } from "../helpers/call-suite.ts";
import { grammarEngine, type TestVocabulary, tinyVocabulary } from "../helpers/grammar.ts";
import { tinyBackend } from "../helpers/native.ts";
import { chatTemplates } from "../helpers/templates.ts";
import { toolLists } from "../helpers/tool-lists.ts";

const templates = chatTemplates();
const SEEDS = [1, 2, 3, 4];

let backend: LlamaBackend;
let grammars: GrammarEngine;
let vocabulary: TestVocabulary;
beforeAll(async () => {
  backend = await tinyBackend({ contextLen: 512 });
  vocabulary = tinyVocabulary();
  grammars = grammarEngine(vocabulary);
});
afterAll(() => {
  grammars.close();
  backend.close();
});

/** Each template has some rows here, other ones than its neighbours. */
const PAIRS: readonly (readonly CallRow[])[] = [
  ["auto", "named", "format"],
  ["required", "schema"],
  ["strict", "single"],
];

if (templates.type === "missing") {
  console.warn(`Skipped: the chat templates of model families could not be had (${templates.reason}).`);
  test.skip(`calls of chat templates: ${templates.reason}`, () => {});
} else {
  const lists = toolLists(false).filter((list) => list.length <= 4);
  // Kimi K3 writes JSON up to a tag, which is a control token there and text to the vocabulary of this test.
  const sources = [...templates.sources]
    .filter(([name]) => name !== "Kimi-K3")
    .sort(([a], [b]) => a.localeCompare(b));
  describe("random calls are parsed and follow their schemas", () => {
    sources.forEach(([name, source], index) => {
      const rows = PAIRS[index % PAIRS.length] ?? [];
      test(`${name}: ${rows.join(", ")}`, () => {
        const template = new TemplateUnderTest({ backend, grammars, vocabulary }, source);
        try {
          for (const row of rows) {
            const list = lists[(index * 5) % lists.length] ?? [];
            const verdicts = SEEDS.map((seed) => template.verdict(list, row, seed));
            const wrong = verdicts.filter(
              (verdict) => !["", "cut"].includes(verdict) && !verdict.startsWith("refused"),
            );
            expect(wrong).toEqual([]);
          }
        } finally {
          template.close();
        }
      });
    });
  });
}
