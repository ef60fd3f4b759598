// GET /v1/usage: what keys have used. GET /v1/me: whose key a request brings, what it may do and what is left of its limits.

import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ServiceError } from "../../core/error.ts";
import { count } from "../../core/schema-fields.ts";
import { isDay } from "../../core/time.ts";
import type { UsageRow } from "../../core/usage.ts";
import type { HttpDeps } from "../deps.ts";
import { callerOf } from "../observe.ts";
import type { ApiComponents } from "../openapi.ts";

const tokenCounts = {
  requests: count("Answered requests."),
  prompt_tokens: count("Tokens of prompts."),
  cached_tokens: count("Those of them that came from the cache."),
  completion_tokens: count("Generated tokens."),
  reasoning_tokens: count("Those of them that were reasoning."),
  tool_calls: count("Calls of tools, the server's and the client's."),
  compute_seconds: Type.Number({ minimum: 0, description: "Time in the engine." }),
};

const UsageEntry = Type.Object(
  {
    day: Type.String({ description: "UTC, `2026-11-28`." }),
    key: Type.String({ description: 'Name of the key; "" for requests without one.' }),
    model: Type.String({ description: "Id of the model." }),
    ...tokenCounts,
  },
  { $id: "UsageEntry", description: "What a key has used of a model on a day." },
);
type UsageEntry = Static<typeof UsageEntry>;

const UsageList = Type.Object(
  {
    object: Type.Literal("list"),
    data: Type.Array(UsageEntry),
    total: Type.Object(tokenCounts, { description: "The sum of `data`." }),
  },
  { $id: "UsageList", description: "Usage, the oldest day first." },
);

const limit = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }));
const Me = Type.Object(
  {
    object: Type.Literal("account"),
    name: Type.Union([Type.String(), Type.Null()], {
      description: "Name of the key; null where none is needed.",
    }),
    role: Type.Union([Type.Literal("user"), Type.Literal("admin")], { description: "What it may do." }),
    signed_in_by: Type.Union([Type.Literal("key"), Type.Literal("proxy"), Type.Literal("none")], {
      description: "How the server knows.",
    }),
    models: Type.Union([Type.Array(Type.String()), Type.Null()], {
      description: "Names of models that it may use; null: all.",
    }),
    limits: Type.Object(
      {
        rpm: limit("Requests to models a minute."),
        tpm: limit("Tokens a minute."),
        streams: limit("Answers at the same time."),
        budget_tokens_per_day: limit("Tokens a day (UTC)."),
      },
      { description: "Absent ones do not limit." },
    ),
    expires: Type.Union([Type.String(), Type.Null()], { description: "When the key ends; null: never." }),
    usage_today: Type.Object(tokenCounts, { description: "Since midnight UTC." }),
  },
  { $id: "Me", description: "Whose key it is, and what it may do." },
);

const QUERY = ["from", "to", "key", "model", "format"] as const;
const COLUMNS = ["day", "key", "model", ...Object.keys(tokenCounts)];

/** Routes of usage. */
export function usageRoutes(deps: HttpDeps, components: ApiComponents) {
  const text = (name: (typeof QUERY)[number], description: string) => {
    return { name, in: "query" as const, required: false, schema: { type: "string" as const }, description };
  };
  return new Elysia()
    .get("/v1/usage", ({ request }) => usage(deps, request), {
      detail: {
        operationId: "usage",
        description:
          "Administrators see all keys, users their own. `format=csv`, or `Accept: text/csv`: a table.",
        tags: ["Operating"],
        summary: "Usage per key, model and day",
        parameters: [
          text("from", "First day (UTC), `2026-11-01`."),
          text("to", "Last day."),
          text("key", "Name of a key."),
          text("model", "Id of a model."),
          text("format", "`json` or `csv`."),
        ],
        responses: components.answers("The usage.", UsageList),
      },
    })
    .get("/v1/me", ({ request }) => me(deps, request), {
      detail: {
        operationId: "me",
        description: "For programs that show a person what a key may do.",
        tags: ["Operating"],
        summary: "Whose key a request brings, and its limits",
        responses: components.answers("The account.", Me),
      },
    });
}

function usage({ usage: read = () => [] }: HttpDeps, request: Request): Response {
  const query = queryOf(new URL(request.url).searchParams);
  const data = read(callerOf(request), query).map(entryOf);
  const isCsv =
    query.format === "csv" || (query.format === undefined && request.headers.get("accept") === "text/csv");
  if (!isCsv) return Response.json({ object: "list", data, total: totalOf(data) });
  const lines = [COLUMNS, ...data.map((row) => Object.values(row).map(csvField))];
  const disposition = 'attachment; filename="usage.csv"';
  return new Response(`${lines.map((line) => line.join(",")).join("\r\n")}\r\n`, {
    headers: { "content-type": "text/csv;charset=utf-8", "content-disposition": disposition },
  });
}

function queryOf(params: URLSearchParams): Readonly<Record<(typeof QUERY)[number], string | undefined>> {
  const read = (name: (typeof QUERY)[number]): string | undefined => params.get(name) ?? undefined;
  const [from, to, key, model, format] = [
    read("from"),
    read("to"),
    read("key"),
    read("model"),
    read("format"),
  ];
  for (const [name, day] of [["from", from] as const, ["to", to] as const]) {
    if (day !== undefined && !isDay(day))
      throw new ServiceError("invalid_request", `${name} is no day; write it as 2026-11-28`, { param: name });
  }
  if (from !== undefined && to !== undefined && from > to)
    throw new ServiceError("contradictory_fields", "from is after to; exchange them", { param: "from" });
  if (format !== undefined && format !== "csv" && format !== "json")
    throw new ServiceError("unsupported_value", "format is unknown; use json or csv", { param: "format" });
  return { from, to, key, model, format };
}

/** A field of a table; a text that a spreadsheet would compute gets a mark before it. */
function csvField(value: string | number): string {
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function me({ usage: read = () => [] }: HttpDeps, request: Request): Response {
  const caller = callerOf(request);
  const { account } = caller;
  const today = new Date().toISOString().slice(0, 10);
  const own = read(caller, { from: today, to: today, key: account?.name }).map(entryOf);
  const { requestsPerMinute, tokensPerMinute, streams, tokensPerDay } = account?.limits ?? {};
  const limits = {
    rpm: requestsPerMinute,
    tpm: tokensPerMinute,
    streams,
    budget_tokens_per_day: tokensPerDay,
  };
  return Response.json({
    object: "account",
    name: account?.name ?? null,
    role: account?.role ?? "admin",
    signed_in_by: account === undefined ? "none" : account.isAmbient === true ? "proxy" : "key",
    models: account?.models ?? null,
    limits,
    expires: account?.expiresMs === undefined ? null : new Date(account.expiresMs).toISOString(),
    usage_today: totalOf(own),
  });
}

function entryOf(row: UsageRow): UsageEntry {
  return {
    day: row.day,
    key: row.key,
    model: row.model,
    requests: row.requests,
    prompt_tokens: row.promptTokens,
    cached_tokens: row.cachedTokens,
    completion_tokens: row.completionTokens,
    reasoning_tokens: row.reasoningTokens,
    tool_calls: row.toolCalls,
    compute_seconds: Math.round(row.seconds * 1000) / 1000,
  };
}

function totalOf(rows: readonly UsageEntry[]) {
  const sum = (of: (row: UsageEntry) => number): number => rows.reduce((total, row) => total + of(row), 0);
  return {
    requests: sum((row) => row.requests),
    prompt_tokens: sum((row) => row.prompt_tokens),
    cached_tokens: sum((row) => row.cached_tokens),
    completion_tokens: sum((row) => row.completion_tokens),
    reasoning_tokens: sum((row) => row.reasoning_tokens),
    tool_calls: sum((row) => row.tool_calls),
    compute_seconds: Math.round(sum((row) => row.compute_seconds) * 1000) / 1000,
  };
}
