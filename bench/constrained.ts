// Answers to schemas and forced tool calls:
//   bun bench/constrained.ts [--rounds N] [--streams N] [--tokens N] [--kind TEXT] [--beside TEXT] [MODEL ...]
// Greedy, servers asked in turn: svc without drafts and with those of what grammars dictate; llama-server with the same schemas and svc.
// `--tokens`: of an answer at most; random weights write long ones. `--kind`, `--beside`: of the kinds and servers with this in their names.

import { parseArgs } from "node:util";
import { type ChatBody, compare, HEAD, type Json } from "./interleaved.ts";
import { THREADS } from "./machine.ts";
import { ensureModel, type ModelName } from "./model.ts";
import { ensurePeer } from "./peer.ts";
import { killRunning } from "./processes.ts";
import { type RunningServer, startServer } from "./servers.ts";

const STREAMS_MAX = 8;

const STRING = { type: "string", maxLength: 40 };
const INTEGER = { type: "integer", minimum: 0, maximum: 9999 };
const NUMBER = { type: "number" };
const FLAG = { type: "boolean" };
const objectOf = (properties: Json): Json => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});
const listOf = (items: Json, minItems: number, maxItems = minItems): Json => ({
  type: "array",
  items,
  minItems,
  maxItems,
});

const ADDRESS = objectOf({
  street: STRING,
  house_number: INTEGER,
  postal_code: STRING,
  city: STRING,
  country: STRING,
});
const PERSON = objectOf({
  first_name: STRING,
  last_name: STRING,
  age: INTEGER,
  occupation: STRING,
  address: ADDRESS,
});
const ITEM = objectOf({ product_name: STRING, quantity: INTEGER, price: NUMBER, is_gift: FLAG });
const STEP = objectOf({
  title: STRING,
  duration_minutes: INTEGER,
  tools: listOf(STRING, 1, 2),
  is_optional: FLAG,
});
const CURRENCY = { enum: ["EUR", "USD", "GBP"] };
/** Answers of 200 to 800 tokens: what is asked, and the schema. */
const SCHEMAS: Readonly<Record<string, readonly [text: string, schema: Json]>> = {
  products: ["Describe coffee machines.", objectOf({ products: listOf(ITEM, 5, 6), currency: CURRENCY })],
  people: ["List people who work at a hospital.", objectOf({ people: listOf(PERSON, 4) })],
  "an order": [
    "Write an order of a school.",
    objectOf({
      customer: PERSON,
      delivery_address: ADDRESS,
      items: listOf(ITEM, 4, 5),
      currency: CURRENCY,
      is_paid: FLAG,
    }),
  ],
  "a recipe": [
    "Write a recipe for bread.",
    objectOf({
      name: STRING,
      servings: INTEGER,
      ingredients: listOf(STRING, 5, 8),
      steps: listOf(STEP, 5, 6),
    }),
  ],
  measurements: [
    "Write down temperatures of a week.",
    objectOf({
      station: STRING,
      measurements: listOf(objectOf({ weekday: STRING, hour: INTEGER, celsius: NUMBER, is_valid: FLAG }), 7),
    }),
  ],
};
/** Tools, each with its parameters and what makes one want a call. */
const TOOLS: Readonly<Record<string, readonly [text: string, parameters: Json]>> = {
  create_calendar_event: [
    "Plan a meeting.",
    objectOf({ title: STRING, duration_minutes: INTEGER, location: STRING, is_recurring: FLAG }),
  ],
  get_weather: [
    "How is the weather in Paris?",
    objectOf({ city: STRING, country: STRING, unit: { enum: ["celsius", "fahrenheit"] } }),
  ],
  send_message: [
    "Tell Ann that I am late.",
    objectOf({ recipient: STRING, subject: STRING, message: STRING, is_urgent: FLAG }),
  ],
  search_files: [
    "Find the readme.",
    objectOf({ pattern: STRING, folder: STRING, is_recursive: FLAG, max_results: INTEGER }),
  ],
  read_file: ["Show main.c.", objectOf({ path: STRING, first_line: INTEGER, last_line: INTEGER })],
  book_flight: [
    "Book a flight to Rome.",
    objectOf({
      origin: STRING,
      destination: STRING,
      passengers: INTEGER,
      seat: { enum: ["window", "aisle"] },
    }),
  ],
  convert_currency: [
    "How much are 5 dollars?",
    objectOf({ amount: NUMBER, source: CURRENCY, target: CURRENCY }),
  ],
  create_customer: ["Add a customer.", objectOf({ customer: PERSON })],
  place_order: ["Order five cups.", objectOf({ items: listOf(ITEM, 2), delivery_address: ADDRESS })],
  set_reminder: [
    "Remind me to water the flowers.",
    objectOf({ text: STRING, hour: INTEGER, minute: INTEGER, weekdays: listOf(STRING, 1, 3) }),
  ],
};

const { values, positionals } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    streams: { type: "string", multiple: true, default: ["1", "8"] },
    tokens: { type: "string", default: "900" },
    kind: { type: "string", default: "" },
    beside: { type: "string", default: "" },
  },
  allowPositionals: true,
});
const TOKENS_MAX = Number(values.tokens);

function schemaBody([text, schema]: readonly [string, Json]): ChatBody {
  const format = { type: "json_schema", json_schema: { name: "answer", schema, strict: true } };
  return { messages: [{ role: "user", content: text }], response_format: format, max_tokens: TOKENS_MAX };
}

function callBody(name: string, [text, parameters]: readonly [string, Json]): ChatBody {
  const tool = { type: "function", function: { name, parameters } };
  return {
    messages: [{ role: "user", content: text }],
    tools: [tool],
    tool_choice: "required",
    max_tokens: Math.min(400, TOKENS_MAX),
  };
}

/** One after the other for one stream, so a row is comparable whichever ends first. */
const KINDS: Readonly<Record<string, readonly ChatBody[]>> = {
  ...Object.fromEntries(Object.entries(SCHEMAS).map(([what, asked]) => [what, [schemaBody(asked)]])),
  "10 tool calls": Object.entries(TOOLS).map(([name, asked]) => callBody(name, asked)),
};

/** The request once a stream, each a little different. */
function bodiesOf(body: ChatBody, streams: number): ChatBody[] {
  return Array.from({ length: streams }, (_, i) => {
    const messages = body.messages.map((message) => ({
      ...message,
      content: `${String(message["content"])} Variant ${i}.`,
    }));
    return { ...body, messages };
  });
}

async function measure(model: ModelName, rounds: number, streamCounts: readonly number[]): Promise<void> {
  const peer = await ensurePeer();
  const modelPath = await ensureModel(model, peer);
  const size = { modelPath, threads: THREADS, sequences: STREAMS_MAX, cells: 2048 * STREAMS_MAX };
  const start = (speculative: string): Promise<RunningServer> =>
    startServer("svc", { ...size, flags: ["--speculative", speculative] }, peer);
  const drafting = await start("grammar");
  const firsts = {
    "svc without drafts": () => start("off"),
    "llama-server": () => startServer("llama-server", size, peer),
  };
  for (const [name, startFirst] of Object.entries(firsts)) {
    if (!name.includes(values.beside)) continue;
    const first = await startFirst();
    console.log(`\n${model}: ${name}, svc with drafts\n\n${HEAD}`);
    for (const streams of streamCounts)
      for (const [what, bodies] of Object.entries(KINDS)) {
        if (!what.includes(values.kind)) continue;
        const bodiesOfRound = (round: number): ChatBody[] =>
          bodiesOf(bodies[(round + 1) % bodies.length] ?? { messages: [] }, streams);
        const comparison = {
          rounds: Math.max(rounds, bodies.length),
          bodiesOf: bodiesOfRound,
          isPrimed: false,
        };
        console.log(`| ${what} | ${streams} | ${await compare([first, drafting], comparison)} |`);
      }
    await first.stop();
  }
  await drafting.stop();
}

try {
  for (const model of ["smollm2-135m", "gemma-3-270m", "qwen3-0.6b"] as const)
    if (positionals.length === 0 || positionals.includes(model))
      await measure(model, Number(values.rounds), values.streams.map(Number));
} finally {
  killRunning();
}
