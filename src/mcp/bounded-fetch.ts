// fetch with a size limit on messages of remote MCP servers: the SDK reads a response, or a line of an event stream, into
// memory without limit.

import { MCP_MESSAGE_BYTES_MAX } from "./limits.ts";

const NEWLINE = 0x0a;

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** A fetch whose body fails when a message exceeds the limit. */
export function boundedFetch(inner: Fetch): Fetch {
  return async (url, init) => {
    const response = await inner(url, init);
    const { body, status, statusText, headers } = response;
    if (body === null) return response;
    const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
    return new Response(body.pipeThrough(bounded(isStream)), { status, statusText, headers });
  };
}

/** `byLine`: the limit applies to each line instead of the whole body. */
function bounded(byLine: boolean): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const end = byLine ? chunk.lastIndexOf(NEWLINE) : -1;
      bytes = end < 0 ? bytes + chunk.byteLength : chunk.byteLength - end - 1;
      if (bytes <= MCP_MESSAGE_BYTES_MAX) controller.enqueue(chunk);
      else controller.error(new Error(`a message is larger than ${MCP_MESSAGE_BYTES_MAX} bytes`));
    },
  });
}
