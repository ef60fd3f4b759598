// Requests with a single, non-streamed response.

import type { Caller } from "../core/caller.ts";
import { connectionFailure, type Failure, garbageFailure, refusal, timeoutFailure } from "./failure.ts";
import { readError, readJson, send, TooLarge } from "./http.ts";
import { ERROR_BYTES_MAX, WHOLE_ANSWER_MS } from "./limits.ts";
import type { UpstreamServer } from "./server.ts";

export interface WholeCall {
  readonly path: string;
  readonly body: unknown;
  /** Whether the work may be repeated once its request was written: images and speech are not. */
  readonly isRepeatable: boolean;
  readonly caller: Caller;
}

/** What `read` makes of the answer, or the failure. `read` returns undefined for an answer of another form. */
export async function ask<T>(
  server: UpstreamServer,
  { path, body, isRepeatable, caller }: WholeCall,
  signal: AbortSignal,
  read: (response: Response) => Promise<T | undefined>,
): Promise<T | Failure> {
  const timeout = AbortSignal.timeout(WHOLE_ANSWER_MS);
  try {
    const within = AbortSignal.any([signal, timeout]);
    const response = await send(server.options, { path, body, caller, signal: within });
    if (response.ok) return (await read(response)) ?? garbageFailure();
    const said = await readError(response, ERROR_BYTES_MAX);
    const failure = refusal(response.status, response.headers, said, server.options.key);
    if (failure.isRouteMissing === true) server.lacks(path);
    return isRepeatable ? failure : { ...failure, mayRetry: false };
  } catch (thrown) {
    if (thrown instanceof TooLarge) return garbageFailure();
    const runsNoTools = isRepeatable && server.facts.runsNoTools;
    if (timeout.aborted) return timeoutFailure(WHOLE_ANSWER_MS / 1000, runsNoTools);
    return connectionFailure(thrown, runsNoTools);
  }
}

/** The JSON of an answer as `read` takes it, or the failure. */
export async function askJson<T>(
  server: UpstreamServer,
  call: WholeCall,
  signal: AbortSignal,
  read: (json: unknown) => T | undefined,
): Promise<T | Failure> {
  return ask(server, call, signal, async (response) => read(await readJson(response)));
}
