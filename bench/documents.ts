// A conversation over an attached document:  bun bench/documents.ts MODEL.gguf [--turns 20] [--pages 30]
// In each dialect the document comes with every request, as clients that keep no state send it. Prints the tokens that each turn computes
// beside those that are new in it, and says whether a repeated request has the same prompt and whether counting agrees with usage.

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { THREADS } from "./machine.ts";
import { CACHE, SVC } from "./peer.ts";
import { killRunning, spawnLogged, stopTree } from "./processes.ts";
import { uniformSource } from "./random.ts";
import { freePort } from "./servers.ts";

/** Words of a page, about 170 tokens: 30 pages leave room for 20 turns in a context of 8,192. */
const PAGE_WORDS = 125;
const ANSWER_TOKENS = 16;
const READY_MS_MAX = 60_000;

interface Turn {
  readonly question: string;
  readonly answer: string;
}

interface Usage {
  readonly prompt: number;
  readonly cached: number;
  readonly written: number;
}

/** A dialect: the body of a turn with the document, and what an answer says. */
interface Dialect {
  readonly name: string;
  readonly path: string;
  readonly countPath: string;
  readonly body: (document: string, before: readonly Turn[], question: string) => object;
  readonly textOf: (answer: Json) => string;
  readonly usageOf: (answer: Json) => Usage;
  readonly countOf: (count: Json) => number;
}

// oxlint-disable-next-line typescript/no-explicit-any -- answers of the server, whose forms the tests check
type Json = any;

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const spoken = (before: readonly Turn[]) =>
  before.flatMap(({ question, answer }) => [
    { role: "user", content: question },
    { role: "assistant", content: answer },
  ]);

/** The messages of a dialect: the document is a part of the first one. */
function withDocument(part: object, textType: string, before: readonly Turn[], question: string) {
  const [first, ...others] = [...spoken(before), { role: "user", content: question }];
  return [{ role: "user", content: [part, { type: textType, text: first?.content }] }, ...others];
}

const DIALECTS: readonly Dialect[] = [
  {
    name: "chat completions",
    path: "/v1/chat/completions",
    countPath: "/v1/chat/completions/input_tokens",
    body: (document, before, question) => {
      const url = `data:text/plain;base64,${base64(document)}`;
      const part = { type: "file", file: { filename: "report.txt", file_data: url } };
      return { messages: withDocument(part, "text", before, question), max_tokens: ANSWER_TOKENS };
    },
    textOf: ({ choices }) => choices[0].message.content,
    usageOf: ({ usage }) => ({
      prompt: usage.prompt_tokens,
      cached: usage.prompt_tokens_details.cached_tokens,
      written: usage.completion_tokens,
    }),
    countOf: (count) => count.input_tokens,
  },
  {
    name: "Responses",
    path: "/v1/responses",
    countPath: "/v1/responses/input_tokens",
    body: (document, before, question) => {
      const file_data = `data:text/plain;base64,${base64(document)}`;
      const part = { type: "input_file", filename: "report.txt", file_data };
      return {
        input: withDocument(part, "input_text", before, question),
        max_output_tokens: ANSWER_TOKENS,
        store: false,
      };
    },
    textOf: ({ output }) => output[0].content[0].text,
    usageOf: ({ usage }) => ({
      prompt: usage.input_tokens,
      cached: usage.input_tokens_details.cached_tokens,
      written: usage.output_tokens,
    }),
    countOf: (count) => count.input_tokens,
  },
  {
    name: "messages",
    path: "/v1/messages",
    countPath: "/v1/messages/count_tokens",
    body: (document, before, question) => {
      const source = { type: "text", media_type: "text/plain", data: document };
      const part = { type: "document", source, cache_control: { type: "ephemeral" } };
      return { messages: withDocument(part, "text", before, question), max_tokens: ANSWER_TOKENS };
    },
    textOf: ({ content }) => content[0].text,
    usageOf: ({ usage }) => ({
      prompt: usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
      cached: usage.cache_read_input_tokens,
      written: usage.output_tokens,
    }),
    countOf: (count) => count.input_tokens,
  },
];

async function post(port: number, path: string, body: object): Promise<Json> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "default", temperature: 0, ...body }),
  });
  const answer: Json = await response.json();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

function documentOf(pages: number): string {
  const random = uniformSource(11);
  const words =
    "revenue grew in the north while costs of transport fell and two plants were closed for repair".split(
      " ",
    );
  const page = (): string =>
    Array.from({ length: PAGE_WORDS }, () => words[Math.floor(random() * words.length)]).join(" ");
  return Array.from({ length: pages }, (_, index) => `Page ${index + 1}\n\n${page()}.`).join("\n\n");
}

/** One row of the table: tokens per turn, and the checks. */
async function row(port: number, dialect: Dialect, turns: number, document: string): Promise<string> {
  const before: Turn[] = [];
  const computed: number[] = [];
  const surplus: number[] = [];
  let last: Usage | undefined;
  let isCounted = true;
  for (let turn = 0; turn < turns; turn++) {
    const question = `Question ${turn + 1}: what does page ${turn + 1} say?`;
    const body = dialect.body(document, before, question);
    const answer = await post(port, dialect.path, body);
    const usage = dialect.usageOf(answer);
    const count = dialect.countOf(await post(port, dialect.countPath, { ...body, max_tokens: undefined }));
    isCounted &&= count === usage.prompt;
    computed.push(usage.prompt - usage.cached);
    if (last !== undefined) {
      const isNew = usage.prompt - last.prompt;
      surplus.push(usage.prompt - usage.cached - isNew);
    }
    last = usage;
    before.push({ question, answer: dialect.textOf(answer) });
  }
  const body = dialect.body(document, before, "The last one?");
  const [one, two] = [await post(port, dialect.path, body), await post(port, dialect.path, body)];
  const isSame = dialect.usageOf(one).prompt === dialect.usageOf(two).prompt;
  const rest = dialect.usageOf(two).prompt - dialect.usageOf(two).cached;
  const [first, ...others] = computed;
  const cells = [dialect.name, last?.prompt, first, Math.max(...others), Math.max(...surplus), rest];
  return `| ${[...cells, isSame ? "yes" : "NO", isCounted ? "yes" : "NO"].join(" | ")} |`;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { turns: { type: "string", default: "20" }, pages: { type: "string", default: "30" } },
});
const [model] = positionals;
if (model === undefined)
  throw new Error("usage: bun bench/documents.ts MODEL.gguf [--turns 20] [--pages 30]");
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => (killRunning(), process.exit(130)));
const port = freePort();
const args = [
  "-m",
  resolve(model),
  "--port",
  String(port),
  "--threads",
  String(THREADS),
  "--compat",
  "clients",
];
const child = spawnLogged([SVC, "serve", "--host", "127.0.0.1", ...args], `${CACHE}/logs/documents.log`, {
  XDG_CACHE_HOME: `${CACHE}/xdg`,
});
try {
  const deadline = performance.now() + READY_MS_MAX;
  while (!(await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined))?.ok) {
    if (performance.now() > deadline) throw new Error("the server does not answer; see bench/.cache/logs");
    await Bun.sleep(50);
  }
  const document = documentOf(Number(values.pages));
  console.log(
    "| dialect | prompt of the last turn | computed: first turn | later turns, most | beyond what is new, most | repeated request | same prompt | count is usage |",
  );
  console.log(`|---|${"--:|".repeat(7)}`);
  for (const dialect of DIALECTS) console.log(await row(port, dialect, Number(values.turns), document));
} finally {
  await stopTree(child);
}
