// Several steps in one native call: the same tokens as one by one, whatever draws them and however answers end.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { RunRequest } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { Engine } from "../../src/worker/text/engine.ts";
import { chatRequest } from "../helpers/engine-run.ts";
import { noConstraints } from "../helpers/fake-backend.ts";
import { tinyBackend } from "../helpers/native.ts";

const SAMPLED = { ...DEFAULT_SAMPLING, temperature: 0.9, topP: 0.95, seed: 3 };

const REQUESTS: readonly RunRequest[] = [
  chatRequest("What is the capital of France?"),
  chatRequest("Count from 1 to 100", { maxTokens: 150 }),
  chatRequest("Tell me a story about a dog", { sampling: SAMPLED, choices: 3, maxTokens: 40 }),
  chatRequest("Count from 1 to 100", { stop: ["17"] }),
  chatRequest("Count from 1 to 20", { sampling: { ...SAMPLED, repetitionPenalty: 1.3 } }),
];

let backend: LlamaBackend;
beforeAll(async () => void (backend = await tinyBackend({ prefixCacheN: 4 })));
afterAll(() => backend.close());

/** What all requests say, one after the other and then all at once, by run and choice; and how many steps that takes. */
function answers(multiStepMs: number): { said: Record<string, string>; steps: number } {
  const said: Record<string, string> = {};
  let clock = 0;
  const engine = new Engine({
    backend,
    constraints: noConstraints,
    prefixCacheN: 4,
    multiStepMs,
    emit: (run, event) => {
      const tell = (what: string, text: string): void => void (said[what] = (said[what] ?? "") + text);
      const { type } = event;
      if (type === "text") tell(`${run} ${event.choice}`, event.text);
      if (type === "choice_end") tell(`${run} ${event.choice}`, ` ends: ${event.reason}`);
      if (type === "finish") tell(`${run}`, `${event.usage.completionTokens} tokens`);
      if (type === "error") tell(`${run}`, event.error.message);
    },
    now: () => clock++,
    newSeed: () => 1,
  });
  let steps = 0;
  const drain = (): void => {
    while (engine.step(5) !== "idle") steps++;
  };
  REQUESTS.forEach((request, id) => {
    engine.add(id, request);
    drain();
  });
  REQUESTS.forEach((request, id) => engine.add(REQUESTS.length + id, request));
  drain();
  engine.close();
  return { said, steps };
}

test("answers are equal, token by token", () => {
  const single = answers(0);
  const ahead = answers(50);
  expect(ahead.said).toEqual(single.said);
  expect(single.said["8 0"]).toEndWith("16,  ends: stop");
  expect(ahead.steps).toBeLessThan(single.steps / 2);
});
