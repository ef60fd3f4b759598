// Metrics of the agent loop: tools that prompts leave out, and searches for them.

import type { Registry } from "prom-client";
import type { AgentMeter } from "../core/telemetry.ts";
import { addCounter, single } from "./read-when-asked.ts";

export class AgentMetrics implements AgentMeter {
  private tools = 0;
  private tokens = 0;
  private searches = 0;
  private found = 0;

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
