// How an upstream is asked for an answer: path, body, and what the chunks of its stream mean.

import type { Caller } from "../core/caller.ts";
import { jsonIn } from "../core/json.ts";
import type { RunRequest } from "../core/run.ts";
import { chatBody, type Past } from "./chat-body.ts";
import type { Body } from "./common-body.ts";
import { completionBody } from "./completion-body.ts";
import { meaningOf } from "./forms.ts";
import type { Learned } from "./learned.ts";
import { RepeatedChunks } from "./repeated.ts";
import type { UpstreamServer } from "./server.ts";
import { StreamError } from "./sse.ts";
import { END, type EventReading, readChunk, type WireChunk } from "./wire.ts";

/** One request, and the reader of its answer. */
export interface Exchange {
  readonly path: string;
  readonly body: Body;
  /** Reads the data of one event. Throws StreamError for what is none. */
  readonly read: (data: string) => EventReading;
}

/** Path of a chat. */
export const CHAT_PATH = "/chat/completions";
/** Path of a completion of text. */
export const TEXT_PATH = "/completions";

/** `data` of the last event of completions. */
const DONE = "[DONE]";

/** What the exchange depends on. */
type Asked = Pick<UpstreamServer, "options" | "facts" | "learned" | "carried">;

/** The exchange of a run whose fields the server honours. */
export function exchangeOf(request: RunRequest, server: Asked, caller: Caller): Exchange {
  const { options, facts, learned } = server;
  const { prompt } = request;
  const { model } = options;
  const read = completionReader(learned);
  return prompt.type === "chat"
    ? { path: CHAT_PATH, body: chatBody({ ...request, prompt }, model, facts, pastOf(server, caller)), read }
    : { path: TEXT_PATH, body: completionBody({ ...request, prompt }, model, facts), read };
}

/** What the server's earlier answers to this client say. */
function pastOf({ learned, carried }: Asked, { client }: Caller): Past {
  const { corrections, reasoning } = learned;
  return { corrections, reasoning, carried: (call) => carried.find({ client, ...call }) };
}

/** Reads chunks of completions and chat completions. */
function completionReader(learned: Learned): Exchange["read"] {
  const repeated = new RepeatedChunks();
  return (data) => {
    if (data === DONE) return END;
    const same = repeated.read(data);
    if (same !== undefined) return same;
    const chunk = readChunk(jsonOf(data));
    if (chunk === undefined) throw new StreamError("sent an event that is not a completion");
    repeated.learn(data, chunk);
    for (const { delta, message } of chunk.choices ?? []) learned.seen(delta ?? message ?? {});
    return withError(chunk);
  };
}

/** Some servers report an error by the reason of the end alone. */
function withError(chunk: WireChunk): WireChunk {
  const failed = chunk.choices?.find(({ finish_reason: reason }) => meaningOf(reason) === "error");
  if (failed === undefined || (chunk.error ?? undefined) !== undefined) return chunk;
  return { ...chunk, error: { message: `finish_reason ${failed.finish_reason}` } };
}

function jsonOf(data: string): unknown {
  const json = jsonIn(data);
  if (json === undefined) throw new StreamError("sent an event that is not JSON");
  return json;
}
