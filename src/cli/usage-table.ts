// `svc usage`: what keys have used, as a table, JSON or CSV.

import type { Command } from "commander";
import type { Settings } from "../config/settings.ts";
import type { Choose } from "./invocation.ts";
import { flagsOf, withSettings } from "./setting-flags.ts";
import { SERVER_FLAGS, ServerClient } from "./server-client.ts";
import { columns } from "./table.ts";

/** What `svc usage` asks for. */
export interface UsageCommand {
  readonly command: "usage";
  /** Days and names, as the server's query has them. */
  readonly query: Readonly<Record<string, string>>;
  readonly output: "table" | "json" | "csv";
}

/** A row of the server's answer. */
type Row = Readonly<Record<string, string | number>>;

interface UsageFlags {
  readonly from?: string;
  readonly to?: string;
  readonly key?: string;
  readonly model?: string;
  readonly json: boolean;
  readonly csv: boolean;
}

const COUNTS = [
  ["requests", "REQUESTS"],
  ["prompt_tokens", "PROMPT"],
  ["cached_tokens", "CACHED"],
  ["completion_tokens", "COMPLETION"],
  ["reasoning_tokens", "REASONING"],
  ["tool_calls", "TOOLS"],
  ["compute_seconds", "SECONDS"],
] as const;

/** Adds `svc usage`. */
export function addUsageCommand(program: Command, choose: Choose): void {
  const usage = program
    .command("usage")
    .description("Show what keys of a running server have used, by day and model.")
    .option("--from <day>", "first day (UTC), such as 2026-11-01")
    .option("--to <day>", "last day")
    .option("--key <name>", "of one key")
    .option("--model <id>", "of one model")
    .option("--json", "print JSON", false)
    .option("--csv", "print a table for spreadsheets", false);
  withSettings(usage, SERVER_FLAGS).action(({ from, to, key, model, json, csv }: UsageFlags) => {
    const given = Object.entries({ from, to, key, model });
    const query = Object.fromEntries(
      given.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    );
    choose({ command: "usage", query, output: csv ? "csv" : json ? "json" : "table", flags: flagsOf(usage) });
  });
}

/** The usage of a running server. Throws a sentence for people. */
export async function usageText({ query, output }: UsageCommand, settings: Settings): Promise<string> {
  const client = new ServerClient(settings.server);
  const format = output === "csv" ? "csv" : "json";
  const response = await client.send(`/v1/usage?${new URLSearchParams({ ...query, format })}`);
  if (output === "csv") return response.text();
  const body = (await response.json()) as { readonly data: readonly Row[]; readonly total: Row };
  if (output === "json") return `${JSON.stringify(body, undefined, 2)}\n`;
  if (body.data.length === 0) return "Nothing was used in this time.\n";
  const counts = (row: Row): readonly string[] => COUNTS.map(([name]) => String(row[name] ?? ""));
  const rows = body.data.map((row) => [
    String(row["day"]),
    String(row["key"] || "-"),
    String(row["model"]),
    ...counts(row),
  ]);
  return columns(
    [
      ["DAY", "KEY", "MODEL", ...COUNTS.map(([, title]) => title)],
      ...rows,
      ["total", "", "", ...counts(body.total)],
    ],
    (column) => column >= 3,
  );
}
