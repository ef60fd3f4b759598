// CORS answers. Spec: Startup settings, CORS defaults; `msgapi` there stands for the vendor name in the header names
// that clients of the messages dialect really send, so both spellings are allowed.

import { cors } from "@elysiajs/cors";
import { REQUEST_ID_HEADER } from "./request-id.ts";

/** How long a browser may keep a preflight answer, seconds. */
const PREFLIGHT_AGE_SECS = 600;

/** The CORS plugin: any origin, no credentials, because the service has none. */
export function corsHook() {
  return cors({
    origin: "*",
    credentials: false,
    methods: ["GET", "POST", "PUT", "DELETE"],
    allowedHeaders: [
      "Content-Type",
      "Authorization",
      "x-api-key",
      "msgapi-version",
      "msgapi-beta",
      "anthropic-version",
      "anthropic-beta",
      REQUEST_ID_HEADER,
    ],
    exposeHeaders: [REQUEST_ID_HEADER],
    maxAge: PREFLIGHT_AGE_SECS,
  });
}
