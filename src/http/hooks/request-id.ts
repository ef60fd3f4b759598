// x-request-id: echoed when the client sent a usable one, made otherwise.

import { newId } from "../../core/id.ts";

export const REQUEST_ID_HEADER = "x-request-id";

/** Visible ASCII only, so that the id can go into a header and a log line as it is. */
const USABLE_ID = /^[\x21-\x7e]{1,128}$/;

/** The id under which a request is answered and logged. */
export function requestId(request: Request): string {
  const sent = request.headers.get(REQUEST_ID_HEADER);
  return sent !== null && USABLE_ID.test(sent) ? sent : newId("req_");
}
