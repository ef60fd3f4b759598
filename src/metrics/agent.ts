// Metrics of the agent loop: tools that prompts leave out, and searches for them.

import type { Registry } from "prom-client";
import type { AppliedEdit } from "../core/applied-edit.ts";
import type { AgentMeter } from "../core/telemetry.ts";
import { addCounter, single } from "./read-when-asked.ts";

const EDITS: readonly AppliedEdit["type"][] = ["clear_thinking", "clear_tool_uses", "compaction"];

export class AgentMetrics implements AgentMeter {
  private tools = 0;
  private tokens = 0;
  private searches = 0;
  private found = 0;
  private readonly edits = new Map<AppliedEdit["type"], { count: number; tokens: number }>();

  constructor(registry: Registry) {
    const counters = [
      ["svc_tools_deferred_total", "Tools that prompts left out.", () => this.tools],
      [
        "svc_tools_deferred_tokens_total",
        "Tokens of the definitions that prompts left out, estimated.",
        () => this.tokens,
      ],
      ["svc_tool_searches_total", "Searches for tools that prompts left out.", () => this.searches],
      ["svc_tools_found_total", "Tools that these searches found.", () => this.found],
    ] as const;
    for (const [name, help, read] of counters) addCounter(registry, { name, help, read: single(read) });
    const labelNames = ["edit"];
    addCounter(registry, {
      name: "svc_context_edits_total",
      help: "Conversations that were edited before the model saw them, compactions among them.",
      labelNames,
      read: () => EDITS.map((edit) => [{ edit }, this.edits.get(edit)?.count ?? 0]),
    });
    addCounter(registry, {
      name: "svc_context_edit_tokens_total",
      help: "Prompt tokens that these edits saved.",
      labelNames,
      read: () => EDITS.map((edit) => [{ edit }, this.edits.get(edit)?.tokens ?? 0]),
    });
  }

  edited(edit: AppliedEdit["type"], tokens: number): void {
    const before = this.edits.get(edit) ?? { count: 0, tokens: 0 };
    this.edits.set(edit, { count: before.count + 1, tokens: before.tokens + tokens });
  }

  deferred({ tools, tokens }: { readonly tools: number; readonly tokens: number }): void {
    this.tools += tools;
    this.tokens += tokens;
  }

  searched(found: number): void {
    this.searches++;
    this.found += found;
  }
}
