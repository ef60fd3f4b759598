// Common documentation of all routes: path parameters and error answers. They follow from what the route
// is (takes JSON, names a model, has an id in its path), so a new route need not list them; its own entries stay.

import { ERROR_TABLE, type ErrorCode } from "../core/error.ts";
import type { ApiComponents } from "./openapi.ts";
import type { RouteTable } from "./route-table.ts";

interface DocumentedRoute {
  readonly method: string;
  readonly path: string;
  readonly hooks?: { readonly detail?: Detail };
}

/** The part of a route's documentation that is read and completed here. */
interface Detail {
  readonly hide?: boolean;
  readonly requestBody?: unknown;
  parameters?: readonly unknown[];
  responses?: Readonly<Record<string, unknown>>;
}

const ALWAYS = ["internal_error"] as const;
const UNLESS_OPEN = ["invalid_api_key"] as const;
const WITH_BODY = [
  "invalid_request",
  "invalid_json",
  "missing_field",
  "unsupported_value",
  "contradictory_fields",
  "payload_too_large",
  "request_timeout",
  "unsupported_media_type",
  "shutting_down",
] as const;
const WITH_MODEL = [
  "context_length_exceeded",
  "unsupported_capability",
  "capability_disabled",
  "model_not_found",
  "queue_full",
  "engine_failed",
  "template_failed",
  "model_unavailable",
] as const;

/** Completes the documentation of all routes; to be called when all are registered. */
export function completeDetails(
  routes: readonly DocumentedRoute[],
  table: RouteTable,
  components: ApiComponents,
): void {
  for (const { method, path, hooks } of routes) {
    const detail = hooks?.detail;
    if (detail?.responses === undefined || detail.hide === true) continue;
    const codes: ErrorCode[] = [...ALWAYS];
    if (!["/", "/health", "/ready"].includes(path)) codes.push(...UNLESS_OPEN);
    if (detail.requestBody !== undefined) codes.push(...WITH_BODY);
    if (table.match(path)?.bodyModels.has(method) === true) codes.push(...WITH_MODEL);
    const parameters = pathParameters(path, detail.parameters ?? []);
    if (parameters.length > 0) detail.parameters = parameters;
    detail.responses = { ...errorAnswers(codes, components), ...detail.responses };
  }
}

/** The listed parameters, and those of the path that are not among them. */
function pathParameters(path: string, listed: readonly unknown[]): readonly unknown[] {
  const names = path.split("/").flatMap((part) => (part.startsWith(":") ? [part.slice(1)] : []));
  const missing = names.filter((name) => !JSON.stringify(listed).includes(`"name":${JSON.stringify(name)}`));
  return [
    ...listed,
    ...missing.map((name) => ({
      in: "path",
      name,
      required: true,
      description: name.endsWith("_id") ? `Id of the ${name.slice(0, -"_id".length)}.` : `Its ${name}.`,
      schema: { type: "string" },
    })),
  ];
}

/** Error answers by status; each names the codes it may have. */
function errorAnswers(
  codes: readonly ErrorCode[],
  components: ApiComponents,
): Readonly<Record<string, unknown>> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const [status] = ERROR_TABLE[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => [
      status,
      components.error(list.map((code) => `\`${code}\``).join(", ")),
    ]),
  );
}
