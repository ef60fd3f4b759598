// A model behind svc that does one long task with whatever tools a client offers: it reads the parts of a log by the client's shell, sends
// the code that the first part names with a tool that it has to search for, and reports it. It knows what stands in its prompt and
// nothing else, so the code must survive every compaction. Speaks chat completions; asked for a summary, it writes one.

/** Parts of the log; together they exceed what a client's conversation may have before svc compacts it. */
const PARTS = 8;
const LINES = 240;
/** What the model claims to have, tokens. */
const CONTEXT = 65_536;
/** The name by which clients ask for it: an alias that compacts. */
export const SCRIPTED = "log-reader";

export const LONG_PROMPT = "Read the parts of the log, then send the code with the echo tool.";
export const LONG_CODE = "48213";
/** The words of an answer after all of it. */
export const LONG_END = `The log is read and ${LONG_CODE} was sent.`;

/** Files of the task: name and text. */
export const LOG_PARTS: readonly (readonly [string, string])[] = Array.from({ length: PARTS }, (_, at) => {
  const head = at === 0 ? `The code is ${LONG_CODE}.\n` : "";
  const lines = Array.from(
    { length: LINES },
    (__, line) => `${at}-${line} nothing happened at this minute, and all the machines were well and quiet`,
  );
  return [`part${at + 1}.txt`, `${head}${lines.join("\n")}\nEnd of part ${at + 1} of ${PARTS}.\n`];
});

interface Message {
  readonly role: string;
  readonly content?: string | readonly { readonly text?: string }[] | null;
}

interface Tool {
  readonly function: {
    readonly name: string;
    readonly parameters?: { readonly properties?: Readonly<Record<string, { readonly type?: string }>> };
  };
}

interface Asked {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly tools?: readonly Tool[];
  readonly stream?: boolean;
}

type Step = { readonly say: string } | { readonly call: string; readonly args: object };

const SHELL = /^(?:exec_command|shell|shell_command|bash|run_shell_command)$/i;

function textOf({ content }: Message): string {
  return typeof content === "string" ? content : (content ?? []).map(({ text = "" }) => text).join("\n");
}

function nextStep({ messages, tools = [] }: Asked): Step {
  const all = messages.map(textOf).join("\n");
  const code = /The code is (\d+)/.exec(all)?.[1];
  const read = Math.max(0, ...[...all.matchAll(/End of part (\d+)/g)].map(([, part]) => Number(part)));
  const isSummary = textOf(messages[0] ?? { role: "system" }).startsWith("You write summaries");
  if (isSummary) return { say: `The code is ${code}. End of part ${read} of ${PARTS}.` };
  if (!all.includes(LONG_PROMPT) && code === undefined) return { say: "Fine." };
  const last = messages.at(-1);
  if (last?.role === "tool" && textOf(last).includes(`sent ${code}`))
    return { say: `The log is read and ${code} was sent.` };
  return read === PARTS
    ? withTool(tools, /echo$/, "echo", () => ({ text: `sent ${code}` }))
    : withTool(tools, SHELL, "shell command", (tool) => shellArguments(tool, `cat part${read + 1}.txt`));
}

/** A call of the first such tool, or a search for it. */
function withTool(tools: readonly Tool[], name: RegExp, words: string, args: (tool: Tool) => object): Step {
  const tool = tools.find((one) => name.test(one.function.name));
  if (tool !== undefined) return { call: tool.function.name, args: args(tool) };
  const search = tools.find((one) => one.function.name === "tool_search");
  return search === undefined
    ? { say: `There is no ${words}.` }
    : { call: "tool_search", args: { query: words } };
}

function shellArguments({ function: { parameters } }: Tool, command: string): object {
  const properties = parameters?.properties ?? {};
  const name = ["cmd", "command", "commands"].find((one) => one in properties) ?? "command";
  const isList = properties[name]?.type === "array";
  const described = "description" in properties ? { description: "Reads a part of the log" } : {};
  return { [name]: isList ? ["bash", "-lc", command] : command, ...described };
}

let calls = 0;

function answered(asked: Asked): Response {
  const step = nextStep(asked);
  const base = { id: "chatcmpl-scripted", created: 1, model: asked.model };
  const call =
    "call" in step
      ? {
          id: `call_${++calls}`,
          type: "function",
          function: { name: step.call, arguments: JSON.stringify(step.args) },
        }
      : undefined;
  const message =
    "say" in step
      ? { role: "assistant", content: step.say }
      : { role: "assistant", content: null, tool_calls: [call] };
  const reason = call === undefined ? "stop" : "tool_calls";
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  if (asked.stream !== true)
    return Response.json({
      ...base,
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: reason }],
      usage,
    });
  const delta = call === undefined ? message : { ...message, tool_calls: [{ index: 0, ...call }] };
  const frames = [
    { ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: null }] },
    { ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta: {}, finish_reason: reason }] },
    { ...base, object: "chat.completion.chunk", choices: [], usage },
  ];
  const body = [...frames.map((frame) => JSON.stringify(frame)), "[DONE]"]
    .map((data) => `data: ${data}\n\n`)
    .join("");
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

export interface ScriptedModel {
  /** Settings of a svc in front of it, as TOML. */
  readonly config: string;
  stop(): Promise<void>;
}

export function startScriptedModel(): ScriptedModel {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      if (request.url.endsWith("/models"))
        return Response.json({
          object: "list",
          data: [{ id: "scripted", object: "model", max_model_len: CONTEXT }],
        });
      // Without an end for counts svc estimates.
      if (!request.url.endsWith("/chat/completions")) return new Response(null, { status: 404 });
      return answered((await request.json()) as Asked);
    },
  });
  return {
    config: `[server]
tools_in_prompt = 400
[[models]]
model_id = "scripted"
kind = "upstream"
[[models.upstreams]]
url = "http://127.0.0.1:${server.port}/v1"
model = "scripted"
[[aliases]]
name = "${SCRIPTED}"
model = "scripted"
defaults = { compact_at = 0.3 }
`,
    stop: () => server.stop(true),
  };
}
