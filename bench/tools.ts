// Preparation of requests that declare many tools:  bun bench/tools.ts [TOOLS]
// The built-in model. Each request has the same tools and another message; "compile" is 0 where the grammar is cached.

import { performance } from "node:perf_hooks";
import type { ToolSpec } from "../src/core/message.ts";
import type { Prompt } from "../src/core/run.ts";
import type { RenderedPrompt } from "../src/worker/text/backend.ts";
import { grammars, tinyBackend } from "../test/helpers/native.ts";

const REQUESTS = 4;
const WAIT_MS = 1000;

function tool(index: number): ToolSpec {
  const properties = {
    path: { type: "string", description: "Path of the file to use" },
    count: { type: "integer", minimum: 0 },
    mode: { enum: ["fast", "slow", `mode_${index}`] },
    tags: { type: "array", items: { type: "string" } },
  };
  const parameters = { type: "object", properties, required: ["path", "mode"], additionalProperties: false };
  const description = `Does thing number ${index} with the arguments and reports what it did`;
  return { name: `tool_${index}`, description, parameters, strict: false };
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
  const tools = Array.from({ length: count }, (_, index) => tool(index));
  console.log("| request | prompt tokens | render, ms | plan, ms | compile, ms | together, ms |");
  console.log("| --: | --: | --: | --: | --: | --: |");
  for (let request = 1; request <= REQUESTS; request++) {
    const start = performance.now();
    const rendered: RenderedPrompt = taken(backend.render(prompt(tools, `Message ${request}`)));
    const renderedMs = performance.now();
    const plan = rendered.plan();
    const plannedMs = performance.now();
    if (plan === undefined) throw new Error("the template has no tool calls");
    taken(engine.compile(plan.constraint, "tools")).free();
    const end = performance.now();
    const spans = [renderedMs - start, plannedMs - renderedMs, end - plannedMs, end - start];
    console.log(
      `| ${request} | ${rendered.tokens.length} | ${spans.map((ms) => ms.toFixed(0)).join(" | ")} |`,
    );
    rendered.free();
  }
  engine.close();
  backend.close();
}

await main();
