// Scores answers with llama.cpp's unpatched libraries, one sequence, one token at a time: a ReferenceTask as JSON on stdin, a
// ReferenceReport on stdout. usage: bun test/zoo/reference.ts LIBRARY_DIR

import { llamaFilesIn, LlamaReference } from "../helpers/llama-c.ts";
import type { ReferenceReport, ReferenceTask, Scored } from "./report.ts";

const CONTEXT = 512;

function score(logits: Float32Array, wanted: readonly number[]): Scored {
  let best = 0;
  for (let token = 1; token < logits.length; token++)
    if ((logits[token] ?? 0) > (logits[best] ?? 0)) best = token;
  const most = logits[best] ?? 0;
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - most);
  const logprob = (token: number): number => (logits[token] ?? 0) - most - Math.log(sum);
  return { best, bestLogprob: logprob(best), logprobs: wanted.map(logprob) };
}

/** See ReferenceReport. */
function contextEffect(model: LlamaReference, prompt: readonly number[]): number {
  const other = prompt.map((token, index) => (index === prompt.length - 3 ? token + 1 : token));
  model.clear();
  const logits = model.decode(prompt, 0).slice();
  model.clear();
  const changed = model.decode(other, 0);
  return logits.reduce((most, logit, token) => Math.max(most, Math.abs(logit - (changed[token] ?? 0))), 0);
}

function scored(model: LlamaReference, { answers, wanted }: ReferenceTask): ReferenceReport {
  const scores = answers.map(({ prompt, tokens }, answer) => {
    model.clear();
    let logits = model.decode(prompt, 0);
    return tokens.map((token, index) => {
      const place = score(logits, wanted[answer]?.[index] ?? []);
      if (index + 1 < tokens.length) logits = model.decode([token], prompt.length + index);
      return place;
    });
  });
  return { scores, contextEffect: contextEffect(model, answers[0]?.prompt ?? []), vectors: [] };
}

function embedded(model: LlamaReference, inputs: ReferenceTask["inputs"]): ReferenceReport {
  const vectors = inputs.map((input) => Array.from(model.embed(input)));
  return { scores: [], contextEffect: 0, vectors };
}

const [dir = ""] = process.argv.slice(2);
const task: ReferenceTask = await Bun.stdin.json();
const embeds = task.inputs.length > 0;
const model = new LlamaReference(llamaFilesIn(dir), task.path, { tokens: CONTEXT, embeds });
const report = embeds ? embedded(model, task.inputs) : scored(model, task);
await Bun.write(Bun.stdout, JSON.stringify(report));
process.exit(0);
