// Tokens and log probabilities of texts by llama.cpp's unpatched libraries: a RealTask as JSON on stdin, a RealReport on stdout.
// usage: bun test/real/reference.ts LIBRARY_DIR

import { llamaFilesIn, LlamaReference } from "../helpers/llama-c.ts";

export interface RealTask {
  readonly path: string;
  /** Keys and values of the cache are F32. */
  readonly isExact: boolean;
  readonly texts: readonly string[];
  /** Conversations of a ChatML model; each is a list of texts, the system's first, then in turn. */
  readonly chats: readonly (readonly string[])[];
}

export interface RealReport {
  readonly texts: readonly (readonly number[])[];
  readonly chats: readonly (readonly number[])[];
  /** Of each text's tokens but the first: natural logarithm of the probability. */
  readonly logprobs: readonly (readonly number[])[];
}

const CONTEXT = 1024;
const ROLES = ["system", "user", "assistant"];

function logprobOf(logits: Float32Array, token: number): number {
  let most = -Infinity;
  for (const logit of logits) most = Math.max(most, logit);
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - most);
  return (logits[token] ?? NaN) - most - Math.log(sum);
}

const [dir = ""] = process.argv.slice(2);
const { path, isExact, texts, chats }: RealTask = await Bun.stdin.json();
const use = { tokens: CONTEXT, embeds: false, isExact, threads: 2 };
const model = new LlamaReference(llamaFilesIn(dir), path, use);
const tokens = texts.map((text) => model.tokenize(text, false));
const report: RealReport = {
  texts: tokens,
  chats: chats.map((chat) => {
    const messages = chat.map((content, at) => ({ role: ROLES[at === 0 ? 0 : 2 - (at % 2)] ?? "", content }));
    return model.tokenize(model.rendered("chatml", messages), true);
  }),
  logprobs: tokens.map((text) =>
    Array.from(model.logitsOf(text.slice(0, -1)), (logits, at) => logprobOf(logits, text[at + 1] ?? 0)),
  ),
};
await Bun.write(Bun.stdout, JSON.stringify(report));
process.exit(0); // the library's threads
