// ./svc with a real model, asked as its clients ask it.

import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { launchServer, type Server } from "../helpers/binary.ts";
import { postJson } from "../helpers/post.ts";
import { until } from "../helpers/until.ts";

export type Json = Readonly<Record<string, unknown>>;
// oxlint-disable-next-line typescript/no-explicit-any -- answers of the server, which other rings check
export type Answer = any;

/** A running server with one model. */
export interface RealServer extends Server {
  /** Sends a body, which must be answered with 200. */
  readonly post: (path: string, body: Json) => Promise<Answer>;
  /** The choice that answers a conversation. */
  readonly chat: (messages: readonly Json[], body?: Json) => Promise<Answer>;
  /** The card of the model. */
  readonly card: () => Promise<Answer>;
  /** The tokens of a text, and of each but the first the log probability. */
  readonly chances: (prompt: string | readonly number[]) => Promise<Chances>;
}

export interface Chances {
  readonly tokens: readonly string[];
  readonly logprobs: readonly number[];
}

export const user = (content: string): Json => ({ role: "user", content });

/** Starts the executable with a model; the caller stops it. `seed`: of requests without one. */
export async function serveReal(
  model: string | undefined,
  args: readonly string[] = [],
  seed = 1,
): Promise<RealServer> {
  const env = { SVC_THREADS: "2", SVC_SEED: String(seed) };
  const server = await launchServer(["-m", model ?? "", ...args], { env });
  const post = async (path: string, body: Json): Promise<Answer> => {
    const response = await postJson(`${server.url}${path}`, { model: "default", ...body });
    const answer: Answer = await response.json();
    expect([response.status, answer.error ?? undefined]).toEqual([200, undefined]);
    return answer;
  };
  return {
    ...server,
    post,
    chat: async (messages, body = {}) =>
      (await post("/v1/chat/completions", { messages, ...body })).choices[0],
    card: async () => {
      const list: Answer = await (await fetch(`${server.url}/v1/models`)).json();
      return list.data[0];
    },
    chances: async (prompt) => {
      const { choices } = await post("/v1/completions", { prompt, echo: true, logprobs: 0, max_tokens: 0 });
      const { tokens, token_logprobs: logprobs } = choices[0].logprobs;
      return { tokens, logprobs: logprobs.slice(1) };
    },
  };
}

/** Memory of the engine, bytes: as the card shows it, as the system counts it, and the most that the card names. */
export interface Memory {
  readonly shown: number;
  readonly taken: number;
  readonly most: number;
}

function residentOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
}

/** Reads and prints it, once the process has come to rest. */
export async function memoryOf(server: RealServer, what: string): Promise<Memory> {
  const { shown, most, taken } = await until("memory is at rest", async () => {
    const before = residentOf(server.enginePid());
    const card = await server.card();
    const after = residentOf(server.enginePid());
    const isAtRest = Math.abs(after / before - 1) < 0.02;
    return isAtRest ? { shown: card.resident_bytes, most: card.memory_bytes, taken: after } : undefined;
  });
  const [now, real, bound] = [shown, taken, most].map((bytes) => Math.round(bytes / 1e6));
  console.log(`${what}: shown ${now} MB, taken ${real} MB; at most ${bound} MB`);
  return { shown, taken, most };
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
/** exp of the mean negative log probability. */
export const perplexity = (logprobs: readonly number[]): number => Math.exp(-mean(logprobs));
/** Mean distance of two lists of log probabilities. */
export const distance = (a: readonly number[], b: readonly number[]): number =>
  mean(a.map((value, at) => Math.abs(value - (b[at] ?? NaN))));
