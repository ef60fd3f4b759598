// Who may use a route. A route that is not named here needs an administrator's key where the server has keys, and serves no page of
// another origin where it has none: a new route is closed until it is opened here.

import type { Role } from "../core/account.ts";

/** Rule of a route. */
export interface RouteRule {
  /** Whether a request needs a key, where the server has keys. */
  readonly needsKey: boolean;
  /** The least role that such a key must have. */
  readonly role: Role;
  /** Whether it is answered under any host name. */
  readonly anyHost: boolean;
  /**
   * Which pages of other origins may use it where no key is needed: none; those that want an answer of a model; or all, because it
   * tells nothing and does nothing.
   */
  readonly pages: "none" | "inference" | "all";
  /** Whether it is data of the web interface, whose header a request must bring. */
  readonly isOwnData: boolean;
}

const CLOSED: RouteRule = {
  needsKey: true,
  role: "admin",
  anyHost: false,
  pages: "none",
  isOwnData: false,
};
/** Answers that pages of other origins get with a key only, and what is the caller's own. */
const OWN: RouteRule = { ...CLOSED, role: "user" };
/** Probes have no key, and come with the name of whatever balances the load. */
const PROBE: RouteRule = { ...OWN, needsKey: false, anyHost: true, pages: "all" };
/** Files of the web interface: there a person enters the key, and links of other sites lead there. */
const PAGE_FILE: RouteRule = { ...OWN, needsKey: false, pages: "all" };
const DOCUMENT: RouteRule = { ...OWN, pages: "all" };
const INFERENCE: RouteRule = { ...OWN, pages: "inference" };
const OWN_DATA: RouteRule = { ...CLOSED, isOwnData: true };

const UI_FILE = "/ui/:file";
/** Data of the web interface, whether this server has it or not. */
const OWN_DATA_PATHS = /^\/ui\/(?:runs|history|day|mcp)(?:\/|$)/;

/** By method and pattern, as the router has them. */
const RULES: ReadonlyMap<string, RouteRule> = new Map<string, RouteRule>([
  ["GET /", PROBE],
  ["GET /health", PROBE],
  ["GET /ready", PROBE],
  ["GET /ui", PAGE_FILE],
  ["GET /ui/preview.html", PAGE_FILE],
  [`GET ${UI_FILE}`, PAGE_FILE],
  ["GET /docs", DOCUMENT],
  ["GET /docs/swagger-ui.js", DOCUMENT],
  ["GET /docs/swagger-ui.css", DOCUMENT],
  ["GET /api-doc/openapi.json", DOCUMENT],
  ["GET /openapi.json", DOCUMENT],
  ["GET /v1/models", INFERENCE],
  ["GET /v1/models/:id", INFERENCE],
  ["POST /v1/chat/completions", INFERENCE],
  ["POST /v1/chat/completions/input_tokens", INFERENCE],
  ["POST /v1/completions", INFERENCE],
  ["POST /v1/responses", INFERENCE],
  ["POST /v1/responses/compact", INFERENCE],
  ["POST /v1/responses/input_tokens", INFERENCE],
  ["POST /v1/messages", INFERENCE],
  ["POST /v1/messages/count_tokens", INFERENCE],
  ["POST /v1/embeddings", INFERENCE],
  ["POST /v1/rerank", INFERENCE],
  ["POST /v2/rerank", INFERENCE],
  ["POST /rerank", INFERENCE],
  ["POST /infill", INFERENCE],
  ["POST /v1/images/generations", INFERENCE],
  // A part of the answer, for an hour: clients and pages fetch it without a key, as they do from OpenAI. Its random name is the key.
  ["GET /v1/images/files/:name", { ...INFERENCE, needsKey: false }],
  ["POST /v1/audio/speech", INFERENCE],
  ["GET /v1/audio/voices", INFERENCE],
  ...[
    "POST /api/chat",
    "POST /api/generate",
    "POST /api/embed",
    "POST /api/embeddings",
    "GET /api/tags",
    "POST /api/show",
    "GET /api/ps",
    "GET /api/version",
    "POST /mcp",
    "POST /v1/models/status",
    "GET /v1/responses/:response_id",
    "DELETE /v1/responses/:response_id",
    "POST /v1/responses/:response_id/cancel",
    "GET /v1/responses/:response_id/input_items",
    "POST /v1/agent/approvals/:approval_id",
    "GET /v1/sessions/:session_id",
    "PUT /v1/sessions/:session_id",
    "POST /v1/sessions/:session_id/fork",
    "DELETE /v1/sessions/:session_id",
    "POST /v1/files",
    "GET /v1/files",
    "GET /v1/files/:id",
    "DELETE /v1/files/:id",
    "GET /v1/files/:id/content",
    "GET /v1/containers/:container_id/files",
    "GET /v1/containers/:container_id/files/:file_id",
    "GET /v1/containers/:container_id/files/:file_id/content",
    "GET /v1/me",
    "GET /v1/usage",
    "GET /v1/skills",
    "GET /v1/skills/:skill_id/versions",
    "GET /v1/mcp/prompts",
    "POST /v1/mcp/prompts",
    "GET /v1/mcp/resources",
    "POST /v1/mcp/resources",
  ].map((route) => [route, OWN] as const),
  ...[
    "GET /ui/runs/:id",
    "DELETE /ui/runs/:id",
    "GET /ui/history",
    "GET /ui/history/:id",
    "PUT /ui/history/:id",
    "DELETE /ui/history/:id",
    "GET /ui/mcp",
  ].map((route) => [route, { ...OWN_DATA, role: "user" }] as const),
]);

/** The rule of a request. `pattern`: the route that its path leads to; undefined where it leads to none. */
export function ruleOf(method: string, path: string, pattern: string | undefined): RouteRule {
  const read = method === "HEAD" ? "GET" : method;
  const named = pattern === undefined ? undefined : RULES.get(`${read} ${pattern}`);
  // Files have a dot in their names.
  const isFile = pattern !== UI_FILE || path.slice("/ui/".length).includes(".") || path === "/ui/";
  if (named !== undefined && isFile) return named;
  if (pattern === undefined) return OWN_DATA_PATHS.test(path) ? { ...OWN_DATA, role: "user" } : OWN; // nothing is there
  return OWN_DATA_PATHS.test(path) ? OWN_DATA : CLOSED;
}
