// Keeps what the web interface stores and follows on the server from pages of other origins. They cannot send its header: a preflight
// never allows one of svc's own. A page under a name that was made to point here is stopped by the check of host names, or lacks a key.

import { ServiceError } from "../../core/error.ts";

/** Sent by the web interface with each request for its own data. */
const PAGE_HEADER = "x-svc-page";

/** Throws `origin_not_allowed` for a request for the interface's data that lacks its header. */
export function checkPage(headers: Headers): void {
  if (headers.has(PAGE_HEADER)) return;
  const message = `this route is for the web interface of this server; a program has to send ${PAGE_HEADER}: 1`;
  throw new ServiceError("origin_not_allowed", message);
}
