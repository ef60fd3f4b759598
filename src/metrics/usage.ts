// Metrics of what callers have used, the same sums as GET /v1/usage since the start, and of how answers end.

import type { Registry } from "prom-client";
import type { FinishReason } from "../core/run.ts";
import type { AnswerMeter } from "../core/telemetry.ts";
import type { UsageSum } from "../core/usage.ts";
import { KEY_LABELS_MAX } from "./limits.ts";
import { addCounter, type Labeled } from "./read-when-asked.ts";

export interface UsageMetricsOptions {
  readonly read: () => Iterable<UsageSum>;
  /** Whether series are per key: names of people. */
  readonly byKey: boolean;
}

const KINDS = [
  ["prompt", ({ promptTokens, cachedTokens }: UsageSum) => promptTokens - cachedTokens],
  ["cached", ({ cachedTokens }: UsageSum) => cachedTokens],
  ["completion", ({ completionTokens, reasoningTokens }: UsageSum) => completionTokens - reasoningTokens],
  ["reasoning", ({ reasoningTokens }: UsageSum) => reasoningTokens],
] as const;

const COUNTERS = [
  ["svc_usage_requests_total", "Requests that models answered.", ({ requests }: UsageSum) => requests],
  ["svc_usage_tool_calls_total", "Calls of tools that models made.", ({ toolCalls }: UsageSum) => toolCalls],
  ["svc_usage_seconds_total", "Time that requests took in engines.", ({ seconds }: UsageSum) => seconds],
] as const;

/** `key` of all keys beyond the first KEY_LABELS_MAX. */
const OTHER_KEYS = "other";

/** Shows usage by model, and by key where that is asked for. */
export function addUsageMetrics(registry: Registry, { read, byKey }: UsageMetricsOptions): void {
  const labelNames = byKey ? ["model", "key"] : ["model"];
  const sums = () => summed(read(), byKey);
  for (const [name, help, value] of COUNTERS)
    addCounter(registry, {
      name,
      help,
      labelNames,
      read: () => sums().map(([labels, parts]): Labeled<number> => [labels, total(parts, value)]),
    });
  addCounter(registry, {
    name: "svc_usage_tokens_total",
    help: "Tokens by kind; prompt and completion without the cached and reasoning ones.",
    labelNames: [...labelNames, "kind"],
    read: () =>
      sums().flatMap(([labels, parts]) =>
        KINDS.map(([kind, value]): Labeled<number> => [{ ...labels, kind }, total(parts, value)]),
      ),
  });
}

type Group = readonly [labels: Readonly<Record<string, string>>, parts: UsageSum[]];

function summed(sums: Iterable<UsageSum>, byKey: boolean): readonly Group[] {
  const groups = new Map<string, Group>();
  const keys = new Set<string>();
  for (const sum of sums) {
    if (keys.size < KEY_LABELS_MAX) keys.add(sum.key);
    const key = keys.has(sum.key) ? sum.key : OTHER_KEYS;
    const labels = byKey ? { model: sum.model, key } : { model: sum.model };
    const id = Object.values(labels).join("\n");
    const group: Group = groups.get(id) ?? [labels, []];
    group[1].push(sum);
    groups.set(id, group);
  }
  return [...groups.values()];
}

function total(parts: readonly UsageSum[], value: (sum: UsageSum) => number): number {
  return parts.reduce((sum, part) => sum + value(part), 0);
}

/** Counts how answers end. */
export class AnswerMetrics implements AnswerMeter {
  private readonly ends = new Map<
    string,
    { readonly model: string; readonly reason: FinishReason; count: number }
  >();

  constructor(registry: Registry) {
    addCounter(registry, {
      name: "svc_finish_reasons_total",
      help: "Complete choices by why they ended.",
      labelNames: ["model", "reason"],
      read: () => Array.from(this.ends.values(), ({ count, ...labels }): Labeled<number> => [labels, count]),
    });
  }

  ended(model: string, reason: FinishReason): void {
    const id = `${model}\n${reason}`;
    const found = this.ends.get(id);
    if (found === undefined) this.ends.set(id, { model, reason, count: 1 });
    else found.count++;
  }
}
