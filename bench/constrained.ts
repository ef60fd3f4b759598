// Answers to schemas and forced tool calls with and without drafts of what grammars dictate:  bun bench/constrained.ts [MODEL ...]
// Trained models, greedy, servers asked in turn: tokens/s of one stream and of eight, and passes for each token.

import { THREADS } from "./machine.ts";
import { ensureModel, type ModelName } from "./model.ts";
import { ensurePeer } from "./peer.ts";
import { killRunning } from "./processes.ts";
import { type RunningServer, startServer } from "./servers.ts";
import { median, pairRatio } from "./stats.ts";

type Json = Readonly<Record<string, unknown>>;

const ROUNDS = 5;
const STREAMS = 8;

const STRING = { type: "string", maxLength: 40 };
const INTEGER = { type: "integer", minimum: 0, maximum: 9999 };
const objectOf = (properties: Json): Json => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});
const PRODUCT = objectOf({
  name: STRING,
  brand: STRING,
  price: { type: "number" },
  currency: { enum: ["EUR", "USD", "GBP"] },
  in_stock: { type: "boolean" },
  category: STRING,
  weight_grams: INTEGER,
  country_of_origin: STRING,
});
const PERSON = objectOf({ first_name: STRING, last_name: STRING, age: INTEGER, occupation: STRING });
const PEOPLE = objectOf({ people: { type: "array", minItems: 3, maxItems: 5, items: PERSON } });
const EVENT = objectOf({
  title: STRING,
  duration_minutes: INTEGER,
  location: STRING,
  is_recurring: { type: "boolean" },
});

const schemaOf = (schema: Json): Json => ({
  response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } },
});
const call = { type: "function", function: { name: "create_calendar_event", parameters: EVENT } };
/** What is asked, and the rest of the request. */
const ASKS: Readonly<Record<string, readonly [text: string, extra: Json]>> = {
  "a product of 8 fields": ["Describe a coffee machine as a product.", schemaOf(PRODUCT)],
  "3 to 5 persons": ["List some people who work at a hospital.", schemaOf(PEOPLE)],
  "a forced call": [
    "Plan a meeting with the team.",
    { tools: [call], tool_choice: { type: "function", function: { name: call.function.name } } },
  ],
};

/** Tokens of an answer. */
async function ask({ port }: RunningServer, text: string, extra: Json): Promise<number> {
  const body = {
    model: "default",
    temperature: 0,
    max_tokens: 500,
    messages: [{ role: "user", content: text }],
    ...extra,
  };
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
  const answer: { readonly usage: { readonly completion_tokens: number } } = await response.json();
  return answer.usage.completion_tokens;
}

/** Tokens a second of `streams` answers at once. */
async function speed(
  server: RunningServer,
  [text, extra]: readonly [string, Json],
  streams: number,
): Promise<number> {
  const start = performance.now();
  const texts = Array.from({ length: streams }, (_, i) => `${text} Variant ${i}.`);
  const tokens = await Promise.all(texts.map((one) => ask(server, one, extra)));
  return (1000 * tokens.reduce((a, b) => a + b)) / (performance.now() - start);
}

/** Accepted draft tokens so far. */
async function hits({ port }: RunningServer): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^svc_draft_hits_total\S* (\d+)/m.exec(text)?.[1] ?? 0);
}

async function measure(model: ModelName): Promise<void> {
  const peer = await ensurePeer();
  const modelPath = await ensureModel(model, peer);
  const size = { modelPath, threads: THREADS, sequences: STREAMS, cells: 2048 * STREAMS };
  const start = (speculative: string): Promise<RunningServer> =>
    startServer("svc", { ...size, flags: ["--speculative", speculative] }, peer);
  const [plain, drafting] = [await start("off"), await start("grammar")];
  console.log(`\n${model}\n\n| Answer | Streams | tokens/s | with drafts | ratio |\n|---|--:|--:|--:|--:|`);
  for (const streams of [1, STREAMS])
    for (const [what, asked] of Object.entries(ASKS)) {
      const [without, withDrafts]: [number[], number[]] = [[], []];
      for (const server of [plain, drafting]) await speed(server, asked, streams);
      for (let round = 0; round < ROUNDS; round++) {
        without.push(await speed(plain, asked, streams));
        withDrafts.push(await speed(drafting, asked, streams));
      }
      const { median: ratio, min, max } = pairRatio(withDrafts, without);
      const columns = [what, streams, median(without).toFixed(0), median(withDrafts).toFixed(0)];
      console.log(`| ${columns.join(" | ")} | ${ratio.toFixed(2)} (${min.toFixed(2)}..${max.toFixed(2)}) |`);
    }
  console.log(`\n${await hits(drafting)} draft tokens were accepted, and as many passes saved.`);
  await plain.stop();
  await drafting.stop();
}

try {
  const names = process.argv.slice(2);
  for (const model of ["smollm2-135m", "gemma-3-270m"] as const)
    if (names.length === 0 || names.includes(model)) await measure(model);
} finally {
  killRunning();
}
