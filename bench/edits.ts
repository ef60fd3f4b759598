// Answers that repeat what the conversation holds, and answers that repeat nothing, with and without lookup drafts:
//   bun bench/edits.ts [--kind TEXT] [--streams N] [MODEL ...]
// Trained models, greedy, servers asked in turn. The edits of a file come after two others, which small models need to see; those of an agent
// are calls under a grammar, each after the results of the ones before, which are recorded. `--kind`: of the kinds with this in their names.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type ChatBody, compare, HEAD, type Json } from "./interleaved.ts";
import { THREADS } from "./machine.ts";
import { ensureModel, measureTrained, type ModelName } from "./model.ts";
import { ensurePeer, ROOT } from "./peer.ts";
import { type RunningServer, startServer } from "./servers.ts";

const ROUNDS = 3;
const STREAMS = 8;
const ANSWER = 200;

/** A file of this repository, and a name in it for each edit. */
interface Edited {
  readonly path: string;
  readonly names: readonly [string, string, string];
}
const FILES: Readonly<Record<string, Edited>> = {
  "a name in a program": { path: "src/core/recent.ts", names: ["value", "max", "oldest"] },
  "a word in prose": { path: "docs/decisions/070-prefill-chunk-time.md", names: ["prompt", "step", "time"] },
};

/** Of tools that read and write files, as coding agents have them. */
function editOf({ path, names }: Edited, round: number): ChatBody {
  let text = readFileSync(join(ROOT, path), "utf8").slice(0, 2400);
  const messages: Json[] = [
    { role: "user", content: `Show me ${path}.` },
    { role: "assistant", content: text },
  ];
  names.forEach((name, i) => {
    const other = `${name}_${round + 2}`;
    messages.push({
      role: "user",
      content: `Replace "${name}" by "${other}", and answer with the whole file.`,
    });
    text = text.replaceAll(name, other);
    if (i < names.length - 1) messages.push({ role: "assistant", content: text });
  });
  return { messages, max_tokens: ANSWER };
}

const TEXT: Json = { type: "string" };
const TOOLS: readonly Json[] = [
  { name: "read_file", parameters: { path: TEXT } },
  {
    name: "edit_file",
    parameters: {
      path: TEXT,
      old_string: TEXT,
      new_string: TEXT,
    },
  },
].map(({ name, parameters }) => ({
  type: "function",
  function: {
    name,
    parameters: {
      type: "object",
      properties: parameters,
      required: Object.keys(parameters),
      additionalProperties: false,
    },
  },
}));

function callOf(id: string, name: string, args: Json): Json {
  const call = { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
  return { role: "assistant", content: null, tool_calls: [call] };
}

/** Rounds of an agent in one conversation: in each it has got one result more, from one on. */
const EDITS = 3;

function agentOf({ path, names }: Edited, round: number): ChatBody {
  const file = readFileSync(join(ROOT, path), "utf8").slice(0, 2400);
  const parts = file.split("\n\n").filter((part) => part.length > 80 && part.length < 500);
  const messages: Json[] = [
    { role: "user", content: `Rename what I ask for in ${path}.` },
    callOf("call_read", "read_file", { path }),
    { role: "tool", tool_call_id: "call_read", content: file },
  ];
  const last = 1 + ((round + EDITS) % EDITS);
  for (let i = 0; i <= last; i++) {
    const part = parts[i % parts.length] ?? file;
    const name = names.find((one) => part.includes(one)) ?? names[0];
    const other = `${name}_${round + 2}`;
    const [first = ""] = part.split("\n");
    messages.push({
      role: "user",
      content: `In the part that begins with "${first}", replace "${name}" by "${other}".`,
    });
    if (i === last) break;
    const renamed = part.replaceAll(name, other);
    const args = { path, old_string: part, new_string: renamed };
    messages.push(callOf(`call_${i}`, "edit_file", args));
    messages.push({ role: "tool", tool_call_id: `call_${i}`, content: `Edited ${path}:\n${renamed}` });
  }
  const choice = { type: "function", function: { name: "edit_file" } };
  return { messages, tools: TOOLS, tool_choice: choice, max_tokens: ANSWER };
}

const TOPICS = [
  "the sea",
  "a bicycle",
  "winter in a town",
  "bread",
  "a lighthouse",
  "the moon",
  "an old map",
];
const storyOf = (i: number): ChatBody => ({
  messages: [
    { role: "user", content: `Write a short story about ${TOPICS[i % TOPICS.length]}, number ${i}.` },
  ],
  max_tokens: ANSWER,
  temperature: 1, // greedy answers of small models repeat themselves
  top_p: 0.95,
  ignore_eos: true,
});

const {
  values: { kind, streams: streamCounts },
  positionals,
} = parseArgs({
  options: {
    kind: { type: "string", default: "" },
    streams: { type: "string", multiple: true, default: ["1", String(STREAMS)] },
  },
  allowPositionals: true,
});

async function measure(model: ModelName): Promise<void> {
  const peer = await ensurePeer();
  const modelPath = await ensureModel(model, peer);
  const size = { modelPath, threads: THREADS, sequences: STREAMS, cells: 4096 * STREAMS };
  const start = (speculative: string): Promise<RunningServer> =>
    startServer("svc", { ...size, flags: ["--speculative", speculative] }, peer);
  const sides = [await start("off"), await start("ngram")] as const;
  console.log(`\n${model}: without drafts, with them\n\n${HEAD}`);
  for (const streams of streamCounts.map(Number)) {
    const kinds = Object.entries(FILES).flatMap(([what, edited]) => [
      [what, (round: number) => editOf(edited, round)] as const,
      [`${what}, by an agent's calls`, (round: number) => agentOf(edited, round)] as const,
    ]);
    for (const [what, bodyOf] of [...kinds, ["a story", storyOf] as const]) {
      if (!what.includes(kind)) continue;
      const bodiesOf = (round: number): ChatBody[] =>
        Array.from({ length: streams }, (_, i) => bodyOf((round + 1) * STREAMS + i));
      console.log(
        `| ${what} | ${streams} | ${await compare(sides, { rounds: ROUNDS, bodiesOf, isPrimed: true })} |`,
      );
    }
  }
  for (const side of sides) await side.stop();
}

await measureTrained(measure, positionals);
