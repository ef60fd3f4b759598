// A thread of its own for large JSON bodies: their bytes are checked, decoded and parsed there, one body after the other, while the
// server goes on. It begins with the first large body.

import { Worker } from "node:worker_threads";
import { type ErrorData, ServiceError } from "../core/error.ts";
import { JSON_COPY_MS } from "./limits.ts";
import { parseText, readText } from "./json-body.ts";

/** What the thread answers: a value, the text of one that is faster to parse than to copy, or what is wrong with the body. */
export type BodyAnswer =
  | { readonly id: number; readonly json: unknown }
  | { readonly id: number; readonly text: string }
  | { readonly id: number; readonly fault: Fault };

type Fault = Omit<ErrorData, "retryAfterSecs">;

/** A body for the thread. */
export interface BodyJob {
  readonly id: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Does a job of the thread. */
export function answerJob({ id, bytes }: BodyJob): BodyAnswer {
  try {
    const { text, shape } = readText(bytes);
    const startMs = performance.now();
    const json = parseText(text);
    // Many small values are faster to parse again than to copy between threads, long texts and different names are not.
    const copyMs = (shape.parts + shape.entries) * JSON_COPY_MS;
    return performance.now() - startMs > copyMs ? { id, json } : { id, text };
  } catch (thrown) {
    if (!(thrown instanceof ServiceError)) throw thrown;
    const { code, message, param } = thrown;
    return { id, fault: { code, message, ...(param === undefined ? {} : { param }) } };
  }
}

type Waiting = ReturnType<typeof Promise.withResolvers<unknown>>;

let thread: Worker | undefined;
let lastId = 0;
const waiting = new Map<number, Waiting>();

/** The value of a body. Takes over its bytes. Throws as parseText and readText do. */
export function parseAside(bytes: Uint8Array<ArrayBuffer>): Promise<unknown> {
  thread ??= startThread();
  const id = ++lastId;
  const job: BodyJob = { id, bytes };
  const answered = Promise.withResolvers<unknown>();
  waiting.set(id, answered);
  thread.postMessage(job, [bytes.buffer]);
  return answered.promise;
}

/** In the executable all files lie in one folder, and folders of entry points below it. */
function threadFile(): URL {
  const isCompiled = !import.meta.path.endsWith("body-thread.ts");
  return new URL(isCompiled ? "./http/body-thread-main.js" : "./body-thread-main.ts", import.meta.url);
}

function startThread(): Worker {
  const started = new Worker(threadFile());
  started.unref();
  started.on("message", settle);
  started.on("error", ({ message }) => {
    if (thread === started) thread = undefined;
    for (const one of waiting.values())
      one.reject(new Error(`the thread of large bodies failed: ${message}`));
    waiting.clear();
  });
  return started;
}

function settle(answer: BodyAnswer): void {
  const one = waiting.get(answer.id);
  waiting.delete(answer.id);
  if (one === undefined) return;
  if ("json" in answer) return one.resolve(answer.json);
  if ("text" in answer) return one.resolve(JSON.parse(answer.text));
  const { code, message, param } = answer.fault;
  one.reject(new ServiceError(code, message, param === undefined ? {} : { param }));
}
