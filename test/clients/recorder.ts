// A proxy between clients and the server that keeps what went by: the wire as real clients write it.

/** A request and the status of its answer. */
export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly status: number;
}

/** Calls by the names of their tools, one a request that offers the tool: the model's answers for as long as there are some. */
export type Script = readonly { readonly tool: string; readonly input: object }[];

/** What the demo model claims to have: with its 4096 tokens some clients summarize the conversation before the first answer. */
const CONTEXT = 65_536;

export interface Recorder {
  readonly root: string;
  /** Answers with these calls before it passes requests on: streams of Messages or chat completions. */
  play(script: Script): void;
  /** What has gone by since the last call. */
  take(): readonly Recorded[];
  stop(): Promise<void>;
}

export function startRecorder(target: string): Recorder {
  let recorded: Recorded[] = [];
  let played: Script = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      const text = await request.text();
      const body = parsed(text);
      const [next, ...later] = played;
      if (next !== undefined && offers(body, next.tool)) {
        played = later;
        recorded.push({ method: request.method, path: pathname, body, status: 200 });
        return stream(pathname.endsWith("/messages") ? messageOf(next) : chunksOf(next));
      }
      const headers = new Headers(request.headers);
      headers.delete("host");
      const answer = await fetch(target + pathname + search, {
        method: request.method,
        headers,
        ...(text === "" ? {} : { body: text }),
        signal: request.signal,
      });
      const { status } = answer;
      recorded.push({ method: request.method, path: pathname, body, status });
      if (!pathname.startsWith("/v1/models"))
        return new Response(answer.body, { status, headers: answer.headers });
      const cards = (await answer.text()).replaceAll(/"context_length":\d+/g, `"context_length":${CONTEXT}`);
      return new Response(cards, { status, headers: { "content-type": "application/json" } });
    },
  });
  return {
    root: `http://127.0.0.1:${server.port}`,
    play: (script) => {
      played = script;
    },
    take: () => {
      const taken = recorded;
      recorded = [];
      return taken;
    },
    stop: () => server.stop(true),
  };
}

function offers(body: unknown, tool: string): boolean {
  const { tools = [] } = (body ?? {}) as { readonly tools?: readonly Offered[] };
  return tools.some((one) => (one.function ?? one).name === tool);
}

interface Offered {
  readonly name?: string;
  readonly function?: { readonly name?: string };
}

function stream(frames: readonly string[]): Response {
  const body = frames.map((frame) => `${frame}\n\n`).join("");
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** The events of a message that is one call. */
function messageOf({ tool, input }: Script[number]): readonly string[] {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: "msg_played", type: "message", role: "assistant", model: "default", content: [] };
  const block = { type: "tool_use", id: `toolu_${tool}`, name: tool, input: {} };
  const events = [
    { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null, usage } },
    { type: "content_block_start", index: 0, content_block: block },
    {
      type: "content_block_delta",
      index: 0,
      delta: { type: "input_json_delta", partial_json: JSON.stringify(input) },
    },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}`);
}

/** The chunks of a chat completion that is one call. */
function chunksOf({ tool, input }: Script[number]): readonly string[] {
  const called = { name: tool, arguments: JSON.stringify(input) };
  const call = { index: 0, id: `call_${tool}`, type: "function", function: called };
  const chunk = { id: "chatcmpl-played", object: "chat.completion.chunk", created: 1, model: "default" };
  const choices = [
    { index: 0, delta: { role: "assistant", tool_calls: [call] }, finish_reason: null },
    { index: 0, delta: {}, finish_reason: "tool_calls" },
  ];
  return [...choices.map((choice) => JSON.stringify({ ...chunk, choices: [choice] })), "[DONE]"].map(
    (data) => `data: ${data}`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text === "" ? null : text.slice(0, 200);
  }
}
