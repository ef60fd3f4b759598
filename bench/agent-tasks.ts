// 50 tasks of an agent with 300 MCP tools through ./svc, with all tools in the prompt and with tools on demand:
//
//   bun bench/agent-tasks.ts [--tools 300]
//
// The model is a script behind svc: it calls the tool that a task needs where it sees its definition, among the tools of the request or in
// the result of a search; else it searches, in the words that the task has for it. A task is right if the client got that one call,
// executed it, and the answer repeats its result.

import { join } from "node:path";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { freePort } from "../test/helpers/free-port.ts";
import { CATALOG_TASKS, type CatalogTask, catalogTools } from "./mcp-catalog.ts";
import { CACHE, SVC } from "./peer.ts";
import { spawnLogged, stopTree } from "./processes.ts";
import { untilAnswering } from "./servers.ts";

const MODEL = "scripted";
/** Settings of the two ways, tokens of definitions in a prompt. */
const WAYS = { "all tools in the prompt": 10_000_000, "tools on demand": 4000 } as const;

interface Message {
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[];
}

interface Asked {
  readonly messages: readonly Message[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** What the script has seen. */
interface Seen {
  requests: number;
  searches: number;
  bytes: number;
}

function chunks(delta: object, reason: string): Response {
  const base = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: MODEL };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const frames = [
    { ...base, choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }] },
    { ...base, choices: [{ index: 0, delta: {}, finish_reason: reason }] },
    { ...base, choices: [], usage },
  ];
  const body = [...frames.map((frame) => JSON.stringify(frame)), "[DONE]"]
    .map((data) => `data: ${data}\n\n`)
    .join("");
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

function callOf(name: string, args: object): Response {
  const called = { name, arguments: JSON.stringify(args) };
  const call = { index: 0, id: `call_${name}`, type: "function", function: called };
  return chunks({ tool_calls: [call] }, "tool_calls");
}

/** The next words of the model. */
function played({ messages, tools = [] }: Asked, seen: Seen): Response {
  seen.requests++;
  seen.bytes += JSON.stringify(tools).length;
  const last = messages.at(-1);
  const wish = messages.findLast(({ role }) => role === "user")?.content ?? "";
  const task = CATALOG_TASKS.find((one) => one.wish === wish);
  if (task === undefined) return chunks({ content: "Which task?" }, "stop");
  if (last?.role === "tool" && last.content?.startsWith("done: ") === true)
    return chunks({ content: last.content }, "stop");
  const isShown = tools.some((tool) => tool.function.name === task.tool);
  const isFound = messages.some(
    ({ role, content }) => role === "tool" && content?.includes(`"name":"${task.tool}"`) === true,
  );
  if (isShown || isFound) return callOf(task.tool, argumentsOf(task));
  seen.searches++;
  const hasSearched = messages.some(({ role }) => role === "tool");
  return hasSearched
    ? chunks({ content: "There is no such tool." }, "stop")
    : callOf("tool_search", { query: task.query });
}

function argumentsOf({ tool }: CatalogTask): object {
  if (tool.includes("_list_")) return {};
  return tool.includes("_create_") ? { title: "From the task" } : { id: "42" };
}

/** Whether a client gets through a task. */
async function succeeds(root: string, task: CatalogTask, tools: readonly object[]): Promise<boolean> {
  const ask = async (messages: readonly object[]): Promise<Message> => {
    const body = { model: MODEL, messages, tools };
    const answer = await fetch(`${root}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const { choices } = (await answer.json()) as {
      readonly choices?: readonly { readonly message: Message }[];
    };
    return choices?.[0]?.message ?? { role: "assistant", content: null };
  };
  const user = { role: "user", content: task.wish };
  const first = await ask([user]);
  const [call, ...others] = first.tool_calls ?? [];
  if (call === undefined || others.length > 0 || call.function.name !== task.tool) return false;
  const result = { role: "tool", tool_call_id: call.id, content: `done: ${task.tool}` };
  return (await ask([user, first, result])).content === `done: ${task.tool}`;
}

async function run(tools: readonly object[], tokens: number): Promise<Seen & { readonly right: number }> {
  const seen: Seen = { requests: 0, searches: 0, bytes: 0 };
  const upstream = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) =>
      request.method === "POST"
        ? played((await request.json()) as Asked, seen)
        : Response.json({ object: "list", data: [{ id: MODEL, object: "model" }] }),
  });
  const folder = mkdtempSync(join(tmpdir(), "svc-agent-tasks-"));
  const config = join(folder, "svc.toml");
  const url = `http://127.0.0.1:${upstream.port}/v1`;
  writeFileSync(
    config,
    `[[models]]\nmodel_id = "${MODEL}"\nkind = "upstream"\n[[models.upstreams]]\nurl = "${url}"\nmodel = "${MODEL}"\n`,
  );
  const port = freePort();
  const command = [SVC, "serve", config, "--host", "127.0.0.1", "--port", String(port)];
  const more = ["--tools-in-prompt", String(tokens), "--no-ui"];
  const child = spawnLogged([...command, ...more], join(CACHE, "logs", "agent-tasks.log"), {});
  try {
    await untilAnswering(child, port);
    let right = 0;
    for (const task of CATALOG_TASKS)
      right += Number(await succeeds(`http://127.0.0.1:${port}`, task, tools));
    return { ...seen, right };
  } finally {
    await stopTree(child);
    await upstream.stop(true);
    rmSync(folder, { recursive: true, force: true });
  }
}

const { values } = parseArgs({ options: { tools: { type: "string", default: "300" } } });
const tools = catalogTools(Number(values.tools)).map((tool) => ({ type: "function", function: tool }));
console.log(
  "| | tasks right | requests to the model | searches | definitions in a request, kB |\n|---|--:|--:|--:|--:|",
);
for (const [way, tokens] of Object.entries(WAYS)) {
  const { right, requests, searches, bytes } = await run(tools, tokens);
  const share = `${right} of ${CATALOG_TASKS.length}`;
  console.log(`| ${[way, share, requests, searches, (bytes / requests / 1000).toFixed(1)].join(" | ")} |`);
  if (right < CATALOG_TASKS.length) process.exitCode = 1;
}
