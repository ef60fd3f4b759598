// A chat client without a library: sees every byte, so that tests can look at comments, frames and broken answers.

import type { ChatCompletionChunkResponse, ChatCompletionResponse } from "../../src/dialects/chat/schema.ts";
import { postJson } from "./post.ts";
import { parseDoneStream } from "./sse.ts";

/** A prompt that the built-in model answers for sure, and its greedy answer without reasoning. */
export const CAPITAL = {
  content: "What is the capital of France?",
  answer: "The capital of France is Paris.",
};

const countTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1).join(", ");

/** The same, 110 tokens and 391 tokens long. */
export const COUNT_30 = { content: "Count from 1 to 30.", answer: countTo(30) };
export const COUNT_100 = { content: "Count from 1 to 100.", answer: countTo(100) };

/** A prompt at which the built-in model goes on to the end of its context, thousands of tokens. */
export const ENDLESS = { content: "Count to 1000" };

/** A greedy request of one user message, without reasoning. */
export function ask(
  { content }: { readonly content: string },
  extra: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return { messages: [{ role: "user", content }], temperature: 0, enable_thinking: false, ...extra };
}

/** POSTs a JSON body to the chat route. */
export function postChat(url: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  return postJson(`${url}/v1/chat/completions`, body, init);
}

/** A complete answer. Throws unless the status is 200. */
export async function complete(url: string, body: unknown): Promise<ChatCompletionResponse> {
  const response = await postChat(url, body);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
  return JSON.parse(text) as ChatCompletionResponse; // the schema's tests are elsewhere
}

/** The text of the first choice. */
export async function completeText(url: string, body: unknown): Promise<string> {
  return (await complete(url, body)).choices[0]?.message.content ?? "";
}

/** What a whole stream said. */
export interface StreamedAnswer {
  readonly raw: string;
  readonly chunks: readonly ChatCompletionChunkResponse[];
  readonly text: string;
  /** Error frames; a good stream has none. */
  readonly errors: readonly { readonly code: string; readonly message: string }[];
}

/** The first piece of an answer's text in a raw stream. */
export const FIRST_TEXT = /"content":"[^"]/;
/** The first frame of a stream: its run was accepted, and may still wait for a sequence. */
export const ACCEPTED_FRAME = /"role":"assistant"/;
export const KEEP_ALIVE = /^: keep-alive$/m;

/** A stream that has begun. */
export interface OpenStream {
  readonly status: number;
  /** Raw text received so far. */
  received(): string;
  /** Reads until what was received matches; throws when the stream ends before. */
  readTo(pattern: RegExp): Promise<void>;
  /** Reads to the end. Throws unless [DONE] comes exactly once, last. */
  finish(): Promise<StreamedAnswer>;
  /** Goes away, as a client that is killed does. */
  abort(): void;
}

/** Starts a stream; resolves with the headers. */
export async function openStream(url: string, body: Record<string, unknown>): Promise<OpenStream> {
  const abort = new AbortController();
  const response = await postChat(url, { ...body, stream: true }, { signal: abort.signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let raw = "";
  const readMore = async (): Promise<boolean> => {
    const next = await reader?.read();
    if (next === undefined || next.done) return false;
    raw += next.value;
    return true;
  };
  return {
    status: response.status,
    received: () => raw,
    readTo: async (pattern) => {
      while (!pattern.test(raw))
        if (!(await readMore())) throw new Error(`the stream ended without ${pattern}: …${raw.slice(-500)}`);
    },
    finish: async () => {
      while (await readMore());
      return readAnswer(raw);
    },
    abort: () => abort.abort(),
  };
}

/** A whole stream. */
export async function streamed(url: string, body: Record<string, unknown>): Promise<StreamedAnswer> {
  return (await openStream(url, body)).finish();
}

interface Payload extends Partial<ChatCompletionChunkResponse> {
  readonly error?: StreamedAnswer["errors"][number];
}

function isChunk(payload: Payload): payload is ChatCompletionChunkResponse {
  return payload.error === undefined;
}

function readAnswer(raw: string): StreamedAnswer {
  const payloads = parseDoneStream(raw) as readonly Payload[];
  const chunks = payloads.filter(isChunk);
  const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
  return { raw, chunks, text, errors: payloads.flatMap(({ error }) => error ?? []) };
}
