// How an upstream is asked for an answer in each API: path, body, and what its events mean. The chunks of a chat completion are
// the common form of events.

import { unreachable } from "../core/assert.ts";
import type { Caller } from "../core/caller.ts";
import type { RunRequest } from "../core/run.ts";
import { chatBody, type Past } from "./chat-body.ts";
import type { Body } from "./common-body.ts";
import { completionBody } from "./completion-body.ts";
import { jsonIn, meaningOf } from "./forms.ts";
import type { Learned } from "./learned.ts";
import { messagesBody } from "./messages-body.ts";
import { MessagesEvents } from "./messages-events.ts";
import type { UpstreamDialect } from "./options.ts";
import { RepeatedChunks } from "./repeated.ts";
import { responsesBody } from "./responses-body.ts";
import { ResponsesEvents } from "./responses-events.ts";
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

/** Path of a chat in each API. */
export const CHAT_PATHS: Readonly<Record<UpstreamDialect, string>> = {
  chat: "/chat/completions",
  messages: "/messages",
  responses: "/responses",
};
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
  const { model, dialect } = options;
  if (prompt.type !== "chat")
    return {
      path: TEXT_PATH,
      body: completionBody({ ...request, prompt }, model, facts),
      read: completionReader(learned),
    };
  const chat = { ...request, prompt };
  const path = CHAT_PATHS[dialect];
  switch (dialect) {
    case "messages":
      return {
        path,
        body: messagesBody(chat, model, facts),
        read: readerOf(new MessagesEvents()),
      };
    case "responses":
      return {
        path,
        body: responsesBody(chat, model, facts),
        read: readerOf(new ResponsesEvents()),
      };
    case "chat":
      return {
        path,
        body: chatBody(chat, model, facts, pastOf(server, caller)),
        read: completionReader(learned),
      };
    default:
      return unreachable(dialect);
  }
}

/** What the server's earlier answers to this client say. */
function pastOf({ learned, carried }: Asked, { client }: Caller): Past {
  const { corrections, reasoning } = learned;
  return { corrections, reasoning, carried: (call) => carried.find({ client, ...call }) };
}

/** Meaning of events in one API. Throws StreamError. */
interface Events {
  read(json: unknown): EventReading;
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

function readerOf(events: Events): Exchange["read"] {
  return (data) => (data === DONE ? END : events.read(jsonOf(data))); // some servers end every stream so
}

function jsonOf(data: string): unknown {
  const json = jsonIn(data);
  if (json === undefined) throw new StreamError("sent an event that is not JSON");
  return json;
}
