// Drafts under a grammar change the number of passes and nothing else: with batch-invariant kernels, answers are bit for bit those
// without drafts.

import { expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { RunRequest } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { chatRequest, type RunOptions, runCounted } from "../helpers/engine-run.ts";
import { tinyBackend } from "../helpers/native.ts";
import { SCHEMAS } from "../helpers/schemas.ts";
import { RECORD } from "../mixes/asks.ts";
import { MixBatch } from "../mixes/batch.ts";
import { openPair, WORLDS } from "../mixes/worlds.ts";

/** Random mixes of each kind; `npm run test:mixes` has thousands. */
const MIXES = 3;

/** Schemas, tool calls and regular expressions, greedy and drawn. */
function requests(): readonly RunRequest[] {
  const schemas = [
    RECORD,
    { type: "array", items: RECORD, minItems: 3, maxItems: 3 },
    ...Object.values(SCHEMAS).slice(0, 4),
  ];
  const constrained = schemas.map((schema, i) =>
    chatRequest(`Example ${i}.`, {
      constraint: { type: "json_schema", schema },
      maxTokens: 160,
      logprobs: { top: 0 },
      sampling: { ...DEFAULT_SAMPLING, temperature: i % 2, ...(i % 4 === 1 ? { seed: i } : {}) },
    }),
  );
  const calls = ["required", "auto"].map((type) => {
    const request = chatRequest("What is the weather in Paris?", { maxTokens: 120, logprobs: { top: 0 } });
    if (request.prompt.type !== "chat") throw new Error("a chat request has a chat prompt");
    const tools = [{ name: "get_weather", parameters: { ...RECORD }, strict: true }];
    return { ...request, prompt: { ...request.prompt, tools, toolChoice: { type } } } as RunRequest;
  });
  return [...constrained, ...calls];
}

function runs(backend: LlamaBackend, drafts: NonNullable<RunOptions["drafts"]>, together: boolean) {
  let clock = 0; // goes on evenly, so that drafts pay
  const asked = requests();
  const batches = together ? [asked] : asked.map((request) => [request]);
  const results = batches.map((batch) => runCounted(backend, batch, { drafts, now: () => clock++ }));
  return {
    answers: JSON.stringify(results.flatMap(({ answers }) => answers)).replaceAll(/"call_\w+"/g, "ID"),
    drafted: results.reduce((sum, { stats }) => sum + stats.draftTokens, 0),
    accepted: results.reduce((sum, { stats }) => sum + stats.draftHits, 0),
  };
}

/** To be called where batch-invariant kernels are loaded. */
export function grammarDraftTests(): void {
  const options = { batchInvariant: true, maxSeqs: 8 } as const;
  test.each([
    ["grammar", false],
    ["ngram", true],
  ] as const)("answers with %s drafts, in one batch: %p, are those without", async (drafts, together) => {
    const backend = await tinyBackend(options);
    const { answers, drafted, accepted } = runs(backend, drafts, together);
    expect(answers).toBe(runs(backend, "off", together).answers);
    expect(drafted).toBeGreaterThan(100);
    expect(accepted).toBeGreaterThan(100);
    backend.close();
  });

  test.each(["lookup", "draft-model", "head-right"])(
    "random mixes with drafts, of the kind %s, are answered as alone",
    async (name) => {
      const world = WORLDS.find((one) => one.name === name);
      if (world === undefined) throw new Error("there is such a kind");
      const pair = await openPair(world);
      if (typeof pair === "string") throw new Error(pair);
      const batch = new MixBatch(world, pair, 0);
      for (let at = 0; at < MIXES; at++) {
        const mix = batch.mixAt(at);
        expect(batch.differenceIn(mix, batch.run(mix))).toBeUndefined();
      }
      pair.close();
    },
  );
}
