// CORS answers. Spec: Startup settings, CORS defaults; `msgapi` there stands for the vendor name in the header names
// that clients of the messages dialect really send, so both spellings are allowed.

import { REQUEST_ID_HEADER } from "./request-id.ts";

/** How long a browser may keep a preflight answer, seconds. */
const PREFLIGHT_AGE_SECS = 600;

/** Names that a page may send without asking for each. */
const HEADERS = [
  "Content-Type",
  "Authorization",
  "x-api-key",
  "msgapi-version",
  "msgapi-beta",
  "anthropic-version",
  "anthropic-beta",
  REQUEST_ID_HEADER,
];

const METHODS = "GET, POST, PUT, DELETE";

/** Names of headers that a preflight may ask for. */
const ASKED_MAX = 64;
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,100}$/;
/** The server's own headers, by which its web interface is recognized: no page of another origin gets to send one. */
const OWN_HEADER = /^x-svc-/i;

/** What every answer carries: any page may read it, without credentials, because the service has none. */
export const CORS_HEADERS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": REQUEST_ID_HEADER,
} as const;

/** The answer to a preflight. `allowsAsked`: whether the page may send the headers that it asks for besides the usual ones. */
export function preflightAnswer(asking: Headers, allowsAsked: boolean, methods = METHODS): Response {
  const asked = allowsAsked ? askedHeaders(asking) : [];
  const usual = new Set(HEADERS.map((name) => name.toLowerCase()));
  const headers = {
    "access-control-allow-methods": methods,
    "access-control-allow-headers": [
      ...HEADERS,
      ...asked.filter((name) => !usual.has(name.toLowerCase())),
    ].join(", "),
    "access-control-max-age": String(PREFLIGHT_AGE_SECS),
  };
  return new Response(null, { status: 204, headers });
}

/** SDKs send headers of their own with every request: `x-stainless-os`, `openai-beta`, `mcp-protocol-version`. */
function askedHeaders(asking: Headers): readonly string[] {
  const names = (asking.get("access-control-request-headers") ?? "").split(",").map((name) => name.trim());
  return names.filter((name) => HEADER_NAME.test(name) && !OWN_HEADER.test(name)).slice(0, ASKED_MAX);
}
