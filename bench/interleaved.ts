// Two servers with the same model asked in turn: tokens/s of answers to chat requests, and the ratio of pairs that ran back to back.

import type { RunningServer } from "./servers.ts";
import { median, pairRatio } from "./stats.ts";

export type Json = Readonly<Record<string, unknown>>;

/** A request to /v1/chat/completions without its model; greedy unless it says otherwise. */
export type ChatBody = Json & { readonly messages: readonly Json[] };

/** Tokens of an answer. */
async function ask({ port }: RunningServer, body: ChatBody): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "default", temperature: 0, ...body }),
  });
  if (!response.ok) throw new Error(await response.text());
  const answer: { readonly usage: { readonly completion_tokens: number } } = await response.json();
  return answer.usage.completion_tokens;
}

/** Tokens of answers that are asked for at once, and tokens a second. */
interface Measured {
  readonly tokens: number;
  readonly speed: number;
}

async function measure(server: RunningServer, bodies: readonly ChatBody[]): Promise<Measured> {
  const start = performance.now();
  const each = await Promise.all(bodies.map((body) => ask(server, body)));
  const tokens = each.reduce((a, b) => a + b);
  return { tokens, speed: (1000 * tokens) / (performance.now() - start) };
}

export interface Comparison {
  readonly rounds: number;
  /** Requests of a round; of -1, which is not measured, too. */
  readonly bodiesOf: (round: number) => readonly ChatBody[];
  /** Prompts are put into the cache before, by a request for one token. */
  readonly isPrimed: boolean;
}

export const HEAD = `| Answer | Streams | tokens/s of the first | of the second | second / first | passes a token | passes an answer |
|---|--:|--:|--:|--:|--:|--:|`;

/** Columns of HEAD after the streams. The second side is svc. */
export async function compare(
  sides: readonly [RunningServer, RunningServer],
  { rounds, bodiesOf, isPrimed }: Comparison,
): Promise<string> {
  for (const side of sides) await measure(side, bodiesOf(-1));
  const speeds: readonly [number[], number[]] = [[], []];
  const before = await acceptedDrafts(sides[1]);
  let [tokens, answers] = [0, 0];
  for (let round = 0; round < rounds; round++)
    for (const i of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const bodies = bodiesOf(round);
      if (isPrimed) for (const body of bodies) await ask(sides[i], primed(body));
      const measured = await measure(sides[i], bodies);
      speeds[i].push(measured.speed);
      if (i === 0) continue;
      tokens += measured.tokens;
      answers += bodies.length;
    }
  const saved = (await acceptedDrafts(sides[1])) - before;
  const { median: ratio, min, max } = pairRatio(speeds[1], speeds[0]);
  const columns = speeds.map((values) => median(values).toFixed(0));
  const passes = (tokens - saved) / tokens;
  const shown = `${passes.toFixed(2)} | ${(tokens / answers).toFixed(0)} -> ${((tokens - saved) / answers).toFixed(0)}`;
  return `${columns.join(" | ")} | ${ratio.toFixed(2)} (${min.toFixed(2)}..${max.toFixed(2)}) | ${shown}`;
}

/** Computes what prompts have in common with that of the answer. A call that must be made would be written to its end, and be drafted from later. */
function primed(body: ChatBody): ChatBody {
  return { ...body, max_tokens: 1, ...(body.tool_choice === undefined ? {} : { tool_choice: "auto" }) };
}

/** Each saved a pass. */
async function acceptedDrafts({ port }: RunningServer): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^svc_draft_hits_total\S* (\d+)/m.exec(text)?.[1] ?? 0);
}
