// The kinds of requests that a soak sends, mixed at random. Each checks what it gets, and tells which answers it saw, so that
// they can be compared with what the server has counted.

import { ask, CAPITAL, COUNT_30, ENDLESS, FIRST_TEXT, openStream } from "../helpers/chat-client.ts";
import { postJson } from "../helpers/post.ts";
import { parseSse } from "../helpers/sse.ts";

/** An answer as the server counts it. */
export interface Seen {
  readonly path: string;
  readonly status: number;
  /** Tokens that its usage tells of. */
  readonly tokens?: number;
}

export interface Situation {
  readonly url: string;
  readonly random: () => number;
}

export interface Kind {
  readonly name: string;
  /** How often it comes, beside the others. */
  readonly weight: number;
  /** Throws with what was wrong. */
  readonly send: (situation: Situation) => Promise<readonly Seen[]>;
}

const CHAT = "/v1/chat/completions";

function post(url: string, path: string, body: object): Promise<Response> {
  return postJson(url + path, body);
}

/** The text of an answer; throws unless it has this status. */
async function textOf(response: Response, status = 200): Promise<string> {
  const text = await response.text();
  if (response.status !== status)
    throw new Error(`status ${response.status} instead of ${status}: ${text.slice(0, 300)}`);
  return text;
}

function mustHold(text: string, wanted: string): void {
  if (!text.includes(wanted)) throw new Error(`"${wanted}" is not in ${text.slice(-500)}`);
}

/** Throws unless the stream has exactly one end, last, and no error. */
function mustEndOnce(stream: string, isEnd: (event: string, data: string) => boolean): void {
  const { events } = parseSse(stream);
  const ends = events.flatMap(({ event, data }, index) => (isEnd(event, data) ? [index] : []));
  const isRight = ends.length === 1 && ends[0] === events.length - 1;
  if (!isRight)
    throw new Error(`ends at ${ends.join(", ")} of ${events.length} events: ${stream.slice(-500)}`);
  if (events.some(({ event, data }) => event === "error" || data.startsWith('{"error"'))) {
    throw new Error(`an error in the stream: ${stream.slice(-500)}`);
  }
}

const isDone = (_event: string, data: string): boolean => data === "[DONE]";

async function chatStream({ url }: Situation): Promise<readonly Seen[]> {
  const body = ask(COUNT_30, { stream: true, stream_options: { include_usage: true } });
  const stream = await textOf(await post(url, CHAT, body));
  mustEndOnce(stream, isDone);
  const words = [...stream.matchAll(/"content":"([^"]*)"/g)].map(([, word]) => word).join("");
  if (words !== COUNT_30.answer) throw new Error(`it said ${words}`);
  const tokens = Number(/"completion_tokens":(\d+)/.exec(stream)?.[1]);
  return [{ path: CHAT, status: 200, tokens }];
}

async function chatBody({ url }: Situation): Promise<readonly Seen[]> {
  const answer = JSON.parse(await textOf(await post(url, CHAT, ask(CAPITAL))));
  mustHold(answer.choices[0].message.content, CAPITAL.answer);
  return [{ path: CHAT, status: 200, tokens: answer.usage.completion_tokens }];
}

async function messages({ url, random }: Situation): Promise<readonly Seen[]> {
  const path = "/v1/messages";
  const body = { max_tokens: 100, temperature: 0, messages: [{ role: "user", content: CAPITAL.content }] };
  if (random() < 0.5) {
    const answer = JSON.parse(
      await textOf(await post(url, path, { ...body, thinking: { type: "disabled" } })),
    );
    mustHold(JSON.stringify(answer.content), CAPITAL.answer);
    return [{ path, status: 200, tokens: answer.usage.output_tokens }];
  }
  const stream = await textOf(await post(url, path, { ...body, stream: true }));
  mustEndOnce(stream, (event) => event === "message_stop");
  return [{ path, status: 200 }];
}

async function responses({ url, random }: Situation): Promise<readonly Seen[]> {
  const path = "/v1/responses";
  const body = { input: CAPITAL.content, temperature: 0, max_output_tokens: 60 };
  if (random() < 0.5) {
    const stream = await textOf(await post(url, path, { ...body, stream: true, store: false }));
    mustEndOnce(stream, (event) => event === "response.completed" || event === "response.incomplete");
    return [{ path, status: 200 }];
  }
  const { id, usage } = JSON.parse(await textOf(await post(url, path, body)));
  await textOf(await fetch(`${url}${path}/${id}`));
  await textOf(await fetch(`${url}${path}/${id}`, { method: "DELETE" }));
  const item = `${path}/{response_id}`;
  return [
    { path, status: 200, tokens: usage.output_tokens },
    { path: item, status: 200 },
    { path: item, status: 200 },
  ];
}

async function completions({ url }: Situation): Promise<readonly Seen[]> {
  const path = "/v1/completions";
  const body = { prompt: ["One, two", "Once upon"], max_tokens: 12, temperature: 0, n: 2 };
  const answer = JSON.parse(await textOf(await post(url, path, body)));
  if (answer.choices.length !== 4) throw new Error(`${answer.choices.length} choices`);
  return [{ path, status: 200, tokens: answer.usage.completion_tokens }];
}

async function embeddings({ url }: Situation): Promise<readonly Seen[]> {
  const path = "/v1/embeddings";
  const answer = JSON.parse(await textOf(await post(url, path, { input: ["Paris", "Rome"] })));
  if (answer.data.length !== 2) throw new Error(`${answer.data.length} vectors`);
  return [{ path, status: 200 }];
}

async function files({ url, random }: Situation): Promise<readonly Seen[]> {
  const path = "/v1/files";
  const bytes = crypto.getRandomValues(new Uint8Array(1 + Math.floor(random() * 60_000)));
  const form = new FormData();
  form.set("purpose", "user_data");
  form.set("file", new File([bytes], "soak.bin"));
  const { id } = JSON.parse(await textOf(await fetch(url + path, { method: "POST", body: form })));
  const back = await (await fetch(`${url}${path}/${id}/content`)).arrayBuffer();
  if (!Buffer.from(back).equals(bytes)) throw new Error("the file is not what was sent");
  await textOf(await fetch(`${url}${path}/${id}`, { method: "DELETE" }));
  return [
    { path, status: 200 },
    { path: `${path}/{id}/content`, status: 200 },
    { path: `${path}/{id}`, status: 200 },
  ];
}

/** A client that goes away in mid-stream; the server counts the status that it has sent. */
async function leaving({ url }: Situation): Promise<readonly Seen[]> {
  const stream = await openStream(url, ask(ENDLESS));
  if (stream.status !== 200) throw new Error(`status ${stream.status}`);
  await stream.readTo(FIRST_TEXT);
  stream.abort();
  return [{ path: CHAT, status: 200 }];
}

async function adapter({ url }: Situation): Promise<readonly Seen[]> {
  const answer = JSON.parse(await textOf(await post(url, CHAT, ask(CAPITAL, { model: "red" }))));
  mustHold(answer.choices[0].message.content, `Red says: ${CAPITAL.answer}`);
  return [{ path: CHAT, status: 200, tokens: answer.usage.completion_tokens }];
}

async function schema({ url }: Situation): Promise<readonly Seen[]> {
  const wanted = {
    type: "object",
    properties: { n: { type: "integer" }, ok: { type: "boolean" } },
    required: ["n", "ok"],
  };
  const format = { type: "json_schema", json_schema: { name: "x", schema: wanted } };
  const answer = JSON.parse(
    await textOf(await post(url, CHAT, ask(CAPITAL, { response_format: format, max_tokens: 200 }))),
  );
  const [choice] = answer.choices;
  if (choice.finish_reason === "stop") JSON.parse(choice.message.content);
  return [{ path: CHAT, status: 200, tokens: answer.usage.completion_tokens }];
}

async function clientTool({ url }: Situation): Promise<readonly Seen[]> {
  const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const tools = [{ type: "function", function: { name: "weather", parameters } }];
  const body = ask(CAPITAL, { tools, tool_choice: "required", max_tokens: 60, parallel_tool_calls: false });
  const answer = JSON.parse(await textOf(await post(url, CHAT, body)));
  return [{ path: CHAT, status: 200, tokens: answer.usage.completion_tokens }];
}

async function python({ url, random }: Situation): Promise<readonly Seen[]> {
  const session = `soak-${Math.floor(random() * 2 ** 40)}`; // its own: whoever meets the end of another's is told so
  const body = ask(
    { content: "Use python to compute 17*23." },
    { tools: [{ type: "code_interpreter" }], session_id: session, max_tokens: 200 },
  );
  const answer = JSON.parse(await textOf(await post(url, CHAT, body)));
  mustHold(JSON.stringify(answer.agentic_tool_calls), "391");
  await textOf(await fetch(`${url}/v1/sessions/${session}`, { method: "DELETE" }));
  return [{ path: CHAT, status: 200 }];
}

async function refused({ url }: Situation): Promise<readonly Seen[]> {
  mustHold(await textOf(await post(url, CHAT, ask(CAPITAL, { temperature: -1 })), 400), "temperature");
  mustHold(await textOf(await post(url, CHAT, ask(CAPITAL, { model: "nobody" })), 404), "model_not_found");
  return [
    { path: CHAT, status: 400 },
    { path: CHAT, status: 404 },
  ];
}

export const KINDS: readonly Kind[] = [
  { name: "chat, streamed", weight: 4, send: chatStream },
  { name: "chat", weight: 4, send: chatBody },
  { name: "messages", weight: 3, send: messages },
  { name: "responses", weight: 3, send: responses },
  { name: "completions", weight: 2, send: completions },
  { name: "embeddings", weight: 2, send: embeddings },
  { name: "files", weight: 2, send: files },
  { name: "client leaves", weight: 3, send: leaving },
  { name: "adapter", weight: 2, send: adapter },
  { name: "schema", weight: 2, send: schema },
  { name: "client's tool", weight: 2, send: clientTool },
  { name: "Python", weight: 1, send: python },
  { name: "refused", weight: 1, send: refused },
];

/** One of the kinds, by their weights. */
export function pick(kinds: readonly Kind[], random: () => number): Kind {
  let left = random() * kinds.reduce((sum, { weight }) => sum + weight, 0);
  const found = kinds.find(({ weight }) => (left -= weight) < 0);
  if (found === undefined) throw new Error("there are kinds");
  return found;
}
