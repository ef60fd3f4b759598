// Events of one answer over lost connections: the server holds the run, so the page joins it again.

import { type ChatRequest, joinChat, streamChat } from "./chat.ts";
import type { ChatEvent } from "./chat-events.ts";
import { ApiError } from "./client.ts";
import { CONNECTION_LOST } from "./read-events.ts";
import { t } from "../texts/texts.ts";

/** Longest pause before another attempt, milliseconds. */
const PAUSE_MS_MAX = 10_000;
/** Attempts in a row: some minutes, which is as long as the server runs an answer without a reader. */
const ATTEMPTS_MAX = 36;
/** Attempts where the request itself got no response: it may have been lost, too. */
const FIRST_ATTEMPTS_MAX = 2;

export interface FollowOptions {
  readonly runId: string;
  /** Absent: the run was requested before. */
  readonly request?: ChatRequest;
  readonly signal: AbortSignal;
  /** Called when the connection is lost. The next `begin` event ends that. */
  readonly onLost: () => void;
}

/** Streams an answer to its end. Each connection begins with `begin`. Throws ApiError. */
export async function* answerEvents(options: FollowOptions): AsyncGenerator<ChatEvent> {
  const { runId, request, signal, onLost } = options;
  let source = request === undefined ? joinChat(runId, signal) : streamChat(request, runId, signal);
  let hasBegun = request === undefined;
  let failure: unknown;
  for (let attempt = 0; ;) {
    try {
      for await (const event of source) {
        if (event.type === "error" && event.code === CONNECTION_LOST) break;
        if (event.type === "begin") {
          hasBegun = true;
          attempt = 0;
        }
        yield event;
        if (event.type === "end" || event.type === "stopped") return;
      }
    } catch (error) {
      failure ??= error; // the first one says the most
      if (signal.aborted || !isUnreachable(error)) throw hasBegun ? error : failure;
    }
    attempt++;
    if (attempt > (hasBegun ? ATTEMPTS_MAX : FIRST_ATTEMPTS_MAX)) throw hasBegun ? gaveUp() : failure;
    onLost();
    await pause(Math.min(PAUSE_MS_MAX, 2 ** (attempt - 1) * 250), signal);
    source = joinChat(runId, signal);
  }
}

function isUnreachable(error: unknown): boolean {
  return error instanceof ApiError && error.status === 0;
}

function gaveUp(): ApiError {
  return new ApiError(0, CONNECTION_LOST, t.errors.lost);
}

/** Waits; ends early when the browser is online again, the page is shown again, or the answer is stopped. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => resolve();
  const timer = setTimeout(done, ms);
  const events = [
    [globalThis, "online"],
    [document, "visibilitychange"],
    [signal, "abort"],
  ] as const;
  for (const [target, name] of events) target.addEventListener(name, done);
  return promise.finally(() => {
    clearTimeout(timer);
    for (const [target, name] of events) target.removeEventListener(name, done);
  });
}
