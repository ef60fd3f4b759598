// Requests to one upstream: addresses, headers, bodies within bounds. Knows neither models nor retries.

import type { Caller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import { jsonIn } from "../core/json.ts";
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

/** Parts of a body as they arrive. Rejects with TooLarge beyond the bound. */
async function* partsOf(response: Response, bytesMax: number): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  for (let bytes = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    bytes += value.byteLength;
    if (bytes > bytesMax) {
      await reader.cancel();
      throw new TooLarge(`the body has more than ${bytesMax} bytes`);
    }
    yield value;
  }
}

/** A body as text. Rejects with TooLarge beyond the bound. */
async function readText(response: Response, bytesMax = BODY_BYTES_MAX): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of partsOf(response, bytesMax)) text += decoder.decode(part, { stream: true });
  return text + decoder.decode();
}

/** A body as bytes. Rejects with TooLarge beyond the bound. */
export async function readBytes(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts = await Array.fromAsync(partsOf(response, BODY_BYTES_MAX));
  return new Uint8Array(Buffer.concat(parts));
}

/** The beginning of an error's body, as text; what cannot be read is "". */
export async function readError(response: Response, bytesMax: number): Promise<string> {
  try {
    return await readText(response, bytesMax);
  } catch {
    return "";
  }
}

/** A body as JSON; undefined where it is none. */
export async function readJson(response: Response): Promise<unknown> {
  return jsonIn(await readText(response));
}
