// Requests to one upstream: addresses, headers, bodies within bounds. Knows neither models nor retries.

import type { Caller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import { jsonIn } from "../core/json.ts";
import { boundedPieces, boundedText } from "../core/bounded-body.ts";
import { BODY_BYTES_MAX } from "./limits.ts";
import type { UpstreamOptions } from "./options.ts";

/** An answer is larger than it may be. */
export class TooLarge extends Error {}

/** A request to a path below the base address, or with `root` beside it. Rejects as fetch does. */
export interface HttpCall {
  readonly path: string;
  /** The path is the server's own, without the API's version. */
  readonly root?: boolean;
  /** JSON to post; absent: GET. */
  readonly body?: unknown;
  /** On whose behalf; the server itself for probes. */
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

export function send(
  { url, key }: UpstreamOptions,
  { path, root, body, caller, signal }: HttpCall,
): Promise<Response> {
  const base = root === true ? url.replace(/\/v\d+$/, "") : url;
  return fetch(base + path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...traceHeaders(caller),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: "manual", // the key is for this server alone
    signal,
  });
}

/** The client's request id and trace context. */
function traceHeaders({ trace }: Caller): Record<string, string> {
  if (trace === undefined) return {};
  const { requestId, traceparent, tracestate } = trace;
  return {
    "x-request-id": requestId,
    ...defined({ traceparent, tracestate }),
  };
}

const tooLarge = (): Error => new TooLarge("the body is larger than its bound");

/** A body as bytes. Rejects with TooLarge beyond the bound. */
export async function readBytes({ body }: Response): Promise<Uint8Array<ArrayBuffer>> {
  return Buffer.concat(await boundedPieces(body, BODY_BYTES_MAX, tooLarge));
}

/** The beginning of an error's body, as text; what cannot be read is "". */
export async function readError(response: Response, bytesMax: number): Promise<string> {
  try {
    return await boundedText(response.body, bytesMax, tooLarge);
  } catch {
    return "";
  }
}

/** A body as JSON; undefined where it is none. */
export async function readJson(response: Response): Promise<unknown> {
  return jsonIn(await boundedText(response.body, BODY_BYTES_MAX, tooLarge));
}
