// Requests with a single, non-streamed response.

import { connectionFailure, type Failure, garbageFailure, refusal, timeoutFailure } from "./failure.ts";
import { readError, readJson, send, TooLarge } from "./http.ts";
import { ERROR_BYTES_MAX, WHOLE_ANSWER_MS } from "./limits.ts";
import type { UpstreamServer } from "./server.ts";

export interface WholeCall {
  readonly path: string;
  readonly body: unknown;
  /** Whether the work may be repeated although it may have been begun: images and speech are not. */
  readonly isRepeatable: boolean;
}

/** The response of an upstream, or the failure. */
export async function ask(
  server: UpstreamServer,
  { path, body, isRepeatable }: WholeCall,
  signal: AbortSignal,
): Promise<Response | Failure> {
  const timeout = AbortSignal.timeout(WHOLE_ANSWER_MS);
  try {
    const response = await send(server.options, { path, body, signal: AbortSignal.any([signal, timeout]) });
    if (response.ok) return response;
    const said = await readError(response, ERROR_BYTES_MAX);
    return refusal(response.status, response.headers, said, server.options.key);
  } catch (thrown) {
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
  const response = await ask(server, call, signal);
  if (!(response instanceof Response)) return response;
  try {
    return read(await readJson(response)) ?? garbageFailure();
  } catch (thrown) {
    if (thrown instanceof TooLarge) return garbageFailure();
    return connectionFailure(thrown, call.isRepeatable && server.facts.runsNoTools);
  }
}
