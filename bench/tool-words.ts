// What small models make of tools that they were not trained for:  bun bench/tool-words.ts [MODEL ...]
// 60 conversations, greedy, of trained models: `tools` as svc and llama-server show them, and other wordings as a system message. Then
// results of tools in several forms: whether the answer uses them, and whether it repeats their markup.

import { THREADS } from "./machine.ts";
import { ensureModel, measureTrained, type ModelName } from "./model.ts";
import { ensurePeer } from "./peer.ts";
import { type RunningServer, type Side, startServer } from "./servers.ts";

type Json = Readonly<Record<string, unknown>>;
// oxlint-disable-next-line typescript/no-explicit-any -- answers of servers
type Answer = any;

interface Message {
  readonly role: string;
  readonly content: string | null;
}

const SEQUENCES = 6;

/** The one argument of a function. */
const ARGUMENTS = {
  get_weather: ["city", "Current weather of a city"],
  read_file: ["path", "Read a file"],
  web_search: ["query", "Search the web"],
  calculate: ["expression", "Evaluate arithmetic"],
  send_email: ["to", "Send an e-mail"],
} as const;
type Tool = keyof typeof ARGUMENTS;
const ALL: readonly Tool[] = ["get_weather", "read_file", "web_search", "calculate", "send_email"];

interface Conversation {
  readonly kind: string;
  readonly text: string;
  readonly tools: readonly Tool[];
  /** The right call; undefined: none. */
  readonly call?: { readonly name: Tool; readonly value: string; readonly arg: RegExp };
}

/** Ten questions about ten things. */
function ten(kind: string, name: Tool, ask: (thing: string) => string, things: readonly string[]) {
  return things.map((thing) => {
    const arg = new RegExp(thing.replaceAll(/[^a-z0-9]+/gi, "[^a-z0-9]*"), "i");
    return { kind, text: ask(thing), tools: [name], call: { name, value: thing, arg } };
  });
}
const CITIES = ["Paris", "Oslo", "Rome", "Tokyo", "Cairo", "Lima", "Berlin", "Madrid", "Delhi", "Quito"];
const FILES = ["notes", "todo", "recipe", "diary", "letter", "log", "plan", "song", "report", "names"];
const TOPICS = ["bees", "volcanoes", "chess", "tea", "Mars", "owls", "jazz", "bread", "sharks", "silk"];
const SUMS = [
  "23 * 17",
  "912 / 8",
  "77 + 48",
  "15 * 15",
  "1000 - 387",
  "64 / 4",
  "99 * 3",
  "512 + 88",
  "7 * 86",
  "450 / 9",
];
const CHATS = [
  "Hello!",
  "Thank you very much.",
  "Who are you?",
  "Tell me a joke.",
  "What is the capital of France?",
  "Good morning!",
  "Say something nice.",
  "Write a short poem about rain.",
  "What color is the sky?",
  "Goodbye!",
];
const single: readonly Conversation[] = [
  ...ten("weather", "get_weather", (city) => `What is the weather in ${city} right now?`, CITIES),
  ...ten("files", "read_file", (name) => `Read the file ${name}.txt and tell me what it says.`, FILES),
  ...ten("search", "web_search", (topic) => `Search the web for ${topic}.`, TOPICS),
  ...ten("arithmetic", "calculate", (sum) => `Calculate ${sum}.`, SUMS),
];
const CONVERSATIONS: readonly Conversation[] = [
  ...single,
  ...single.filter((_, at) => at % 4 === 0).map((one) => ({ ...one, kind: "several tools", tools: ALL })),
  ...CHATS.map((text) => ({ kind: "none needed", text, tools: ALL })),
];
const KINDS = [...new Set(CONVERSATIONS.map(({ kind }) => kind))];

const specOf = (name: Tool): Json => ({
  name,
  description: ARGUMENTS[name][1],
  parameters: {
    type: "object",
    properties: { [ARGUMENTS[name][0]]: { type: "string" } },
    required: [ARGUMENTS[name][0]],
  },
});
const lines = (tools: readonly Tool[]): string =>
  tools.map((tool) => JSON.stringify(specOf(tool))).join("\n");
const callText = (name: string, args: Json): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;
const user = (content: string): Message => ({ role: "user", content });
const system = (content: string): Message => ({ role: "system", content });

/** A question and its call, as turns. */
const example = (question: string, name: string, args: Json): readonly Message[] => [
  user(question),
  { role: "assistant", content: callText(name, args) },
];
const TIME = example("What time is it in Bern?", "get_time", { city: "Bern" });
const TRANSLATE = example('Translate "tree" into French.', "translate", { text: "tree" });
const GREETING: readonly Message[] = [user("Hi!"), { role: "assistant", content: "Hi! How can I help you?" }];
const asTurns =
  (turns: readonly Message[]) =>
  (text: string, tools: readonly Tool[]): readonly Message[] => [
    system(`Answer with a call where one of these functions helps:\n${lines(tools)}`),
    ...turns,
    user(text),
  ];

/** Other wordings: the messages of a question. */
const WORDINGS: Readonly<Record<string, (text: string, tools: readonly Tool[]) => readonly Message[]>> = {
  "an example in the instructions": (text, tools) => [
    system(
      `You can use these functions:\n${lines(tools)}\nWhen one helps, answer with a call only. For example, to "What time is it in Bern?" with a function get_time:\n${callText("get_time", { city: "Bern" })}`,
    ),
    user(text),
  ],
  "one example as turns": asTurns(TIME),
  "two examples as turns": asTurns([...TRANSLATE, ...TIME]),
  "two examples and a greeting": asTurns([...TRANSLATE, ...GREETING, ...TIME]),
};

async function ask(server: RunningServer, body: Json): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${server.port}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "default", temperature: 0, max_tokens: 48, ...body }),
  });
  const answer: Answer = await response.json();
  if (response.status !== 200) throw new Error(JSON.stringify(answer));
  return answer.choices[0].message;
}

/** The call of an answer, in fields or as text. */
function callOf({ tool_calls: calls, content }: Answer): { name: string; args: string } | undefined {
  const called = calls?.[0]?.function;
  if (called !== undefined) return { name: called.name, args: called.arguments };
  // As far as a grammar would let it go on.
  const found = /\{\s*"name":\s*"(\w+)",\s*"arguments":\s*(\{[^{}]*)/.exec(content ?? "");
  return found === null ? undefined : { name: found[1] ?? "", args: found[2] ?? "" };
}

/** Some requests at a time, as many as the server has sequences. */
async function inTurns<T>(
  all: readonly T[],
  answer: (one: T) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (let at = 0; at < all.length; at += SEQUENCES)
    answers.push(...(await Promise.all(all.slice(at, at + SEQUENCES).map(answer))));
  return answers;
}

/** Right answers of each kind. */
async function rightOnes(answer: (one: Conversation) => Promise<Answer>): Promise<readonly number[]> {
  const right = new Map(KINDS.map((kind) => [kind, 0]));
  const answers = await inTurns(CONVERSATIONS, answer);
  for (const [at, one] of CONVERSATIONS.entries()) {
    const call = callOf(answers[at]);
    const isRight =
      one.call === undefined
        ? call === undefined
        : call?.name === one.call.name && one.call.arg.test(call.args);
    if (isRight) right.set(one.kind, (right.get(one.kind) ?? 0) + 1);
  }
  return [...right.values()];
}

/** Results, and how an answer shows that it has read them. */
const RESULTS: readonly (readonly [at: number, result: string, used: RegExp])[] = [
  [0, '{"temperature": 18, "sky": "cloudy"}', /18|cloud/i],
  [1, "-3 degrees, snow", /3|snow/i],
  [10, "Buy milk and eggs.", /milk/i],
  [11, "Call Ann at five.", /ann|five/i],
  [20, "Bees make honey and live in hives.", /honey|hive/i],
  [30, "391", /391/],
  [31, "114", /114/],
  [32, "125", /125/],
];
/** The messages after a question and its call. */
const FORMS: Readonly<Record<string, (one: Conversation, result: string) => Json>> = {
  "`tools` and a result": (one, result) => {
    const name = one.tools[0] ?? "calculate";
    const call = { id: "c1", type: "function", function: { name, arguments: argsOf(one, name) } };
    const messages = [
      user(one.text),
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: result },
    ];
    return { messages, tools: one.tools.map((tool) => ({ type: "function", function: specOf(tool) })) };
  },
  "markup of the result as text": (one, result) => told(one, `<tool_response>\n${result}\n</tool_response>`),
  "a sentence": (one, result) => told(one, `The answer of ${one.tools[0]} is: ${result}`),
};
const argsOf = ({ call }: Conversation, name: Tool): string =>
  JSON.stringify({ [ARGUMENTS[name][0]]: call?.value ?? "" });
function told(one: Conversation, content: string): Json {
  const name = one.tools[0] ?? "calculate";
  const call = callText(name, JSON.parse(argsOf(one, name)));
  return { messages: [user(one.text), { role: "assistant", content: call }, user(content)] };
}

async function used(server: RunningServer, form: (one: Conversation, result: string) => Json) {
  let [right, parroted] = [0, 0];
  for (const [at, result, expected] of RESULTS) {
    const one = single[at];
    if (one === undefined) continue;
    const { content } = await ask(server, form(one, result));
    if (/tool_(?:response|call)/.test(content ?? "")) parroted++;
    else if (expected.test(content ?? "")) right++;
  }
  return [right, parroted];
}

async function withServer<T>(
  side: Side,
  modelPath: string,
  use: (server: RunningServer) => Promise<T>,
): Promise<T> {
  const size = { threads: THREADS, sequences: SEQUENCES, cells: 2048 * SEQUENCES };
  const server = await startServer(side, { modelPath, ...size }, await ensurePeer());
  try {
    return await use(server);
  } finally {
    await server.stop();
  }
}

const byTools =
  (server: RunningServer) =>
  (one: Conversation): Promise<Answer> =>
    ask(server, {
      messages: [user(one.text)],
      tools: one.tools.map((tool) => ({ type: "function", function: specOf(tool) })),
    });

async function measure(model: ModelName): Promise<void> {
  const path = await ensureModel(model, await ensurePeer());
  console.log(`\n${model}, right of ${CONVERSATIONS.length}, ten each:\n`);
  console.log(`| Form | ${KINDS.join(" | ")} | all |\n|---${"|--:".repeat(KINDS.length + 1)}|`);
  const row = (what: string, right: readonly number[]): void =>
    console.log(`| ${what} | ${[...right, right.reduce((a, b) => a + b)].join(" | ")} |`);
  const results: string[] = [];
  const note = ([right, parroted]: readonly number[], what: string): unknown =>
    results.push(`| ${what} | ${right} | ${parroted} |`);
  await withServer("svc", path, async (server) => {
    row("svc, `tools`", await rightOnes(byTools(server)));
    for (const [what, messages] of Object.entries(WORDINGS))
      row(what, await rightOnes((one) => ask(server, { messages: messages(one.text, one.tools) })));
    for (const [what, form] of Object.entries(FORMS)) note(await used(server, form), `svc, ${what}`);
  });
  await withServer("llama-server", path, async (server) => {
    row("llama-server, `tools`", await rightOnes(byTools(server)));
    for (const [what, form] of Object.entries(FORMS).slice(0, 1))
      note(await used(server, form), `llama-server, ${what}`);
  });
  console.log(`\n| Result of a tool, ${RESULTS.length} | used | its markup repeated |\n|---|--:|--:|`);
  for (const line of results) console.log(line);
}

await measureTrained(measure);
