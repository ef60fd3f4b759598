// Preparation of requests that declare many tools:  bun bench/tools.ts [TOOLS]
// The built-in model. Two lists of tools, and two requests with each, of different messages. A run is accepted, and its prompt computed,
// when the prompt is rendered and planned; the grammar of its calls is needed when a call begins.

import { performance } from "node:perf_hooks";
import type { ToolSpec } from "../src/core/message.ts";
import type { Prompt } from "../src/core/run.ts";
import type { RenderedPrompt } from "../src/worker/text/backend.ts";
import { grammars, tinyBackend } from "../test/helpers/native.ts";

const LISTS = ["a", "a", "b", "b"] as const;
/** As the engine waits. */
const WAIT_MS = 1;

function tool(list: string, index: number): ToolSpec {
  const properties = {
    path: { type: "string", description: "Path of the file to use" },
    count: { type: "integer", minimum: 0 },
    mode: { enum: ["fast", "slow", `mode_${list}${index}`] },
    tags: { type: "array", items: { type: "string" } },
  };
  const parameters = { type: "object", properties, required: ["path", "mode"], additionalProperties: false };
  const description = `Does thing number ${index} with the arguments and reports what it did`;
  return { name: `tool_${list}${index}`, description, parameters, strict: false };
}

function prompt(tools: readonly ToolSpec[], text: string): Prompt {
  return {
    type: "chat",
    messages: [{ role: "user", content: [{ type: "text", text }] }],
    tools,
    toolChoice: { type: "auto" },
    thinking: { enabled: false },
  };
}

function taken<T>(pending: { take(waitMs: number): T | undefined }): T {
  for (;;) {
    const result = pending.take(WAIT_MS);
    if (result !== undefined) return result;
  }
}

async function main(): Promise<void> {
  const count = Number(process.argv[2] ?? 1000);
  if (!Number.isInteger(count) || count < 1) throw new Error("usage: bun bench/tools.ts [TOOLS]");
  const backend = await tinyBackend();
  const engine = grammars(backend);
  console.log("| list of tools | prompt tokens | accepted, ms | grammar, ms | processor time, ms |");
  console.log("| --- | --: | --: | --: | --: |");
  for (const [request, list] of LISTS.entries()) {
    const tools = Array.from({ length: count }, (_, index) => tool(list, index));
    const before = process.cpuUsage();
    const start = performance.now();
    const asked = prompt(tools, `Message ${request}`);
    const rendered: RenderedPrompt = taken(backend.render(asked));
    const plan = rendered.plan();
    if (plan === undefined) throw new Error("the template has no tool calls");
    const pending = engine.compile(plan.constraint, "tools");
    const plannedMs = performance.now() - start;
    taken(pending).free();
    const readyMs = performance.now() - start;
    const { user, system } = process.cpuUsage(before);
    const isNew = LISTS.indexOf(list) === request;
    const spans = [plan.certain ? plannedMs : readyMs, readyMs, (user + system) / 1000];
    console.log(
      `| ${isNew ? "new" : "known"} | ${rendered.tokens.length} | ${spans.map((ms) => ms.toFixed(0)).join(" | ")} |`,
    );
    rendered.free();
  }
  engine.close();
  backend.close();
}

await main();
