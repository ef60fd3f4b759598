// x-request-id: echoed when the client sent a usable one, made otherwise.

import { newId } from "../../core/id.ts";

export const REQUEST_ID_HEADER = "x-request-id";
/** Where clients of the Messages dialect read it. */
const MESSAGES_ID_HEADER = "request-id";
const MESSAGES_PATH = "/v1/messages";

/** Visible ASCII only, so that the id can go into a header and a log line as it is. */
const USABLE_ID = /^[\x21-\x7e]{1,128}$/;

/** The id under which a request is answered and logged. */
export function requestId(request: Request): string {
  const sent = request.headers.get(REQUEST_ID_HEADER);
  return sent !== null && USABLE_ID.test(sent) ? sent : newId("req_");
}

/** The headers that tell the client the id of its request. */
export function idHeaders({
  id,
  path,
}: {
  readonly id: string;
  readonly path: string;
}): Record<string, string> {
  const isMessages = path === MESSAGES_PATH || path.startsWith(`${MESSAGES_PATH}/`);
  return { [REQUEST_ID_HEADER]: id, ...(isMessages ? { [MESSAGES_ID_HEADER]: id } : {}) };
}
