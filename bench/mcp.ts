// Cost of MCP tools:  bun bench/mcp.ts
// Round trip of a call; start with many servers; many tools in a prompt, counted with the built-in model's tokenizer.

import { performance } from "node:perf_hooks";
import { join } from "node:path";
import { unpackLibraries } from "../ffi/embedded.ts";
import { openNative } from "../ffi/library.ts";
import { LlamaBackend } from "../ffi/llama.ts";
import type { McpServerConfig } from "../src/core/mcp-config.ts";
import type { ToolSpec } from "../src/core/message.ts";
import type { TextOptions } from "../src/engine/protocol.ts";
import { McpServers } from "../src/mcp/servers.ts";
import type { McpTool } from "../src/mcp/types.ts";
import { chatRequest } from "../test/helpers/engine-run.ts";
import { quantile } from "./stats.ts";

const DEMO = join(import.meta.dir, "../test/helpers/mcp-demo.ts");
const MODEL = join(import.meta.dir, "../demo-model/tiny.gguf");
const CACHE = join(import.meta.dir, ".cache/mcp");
const CALLS = 2000;
const RENDERS = 5;

const BACKEND: TextOptions = {
  kind: "text",
  cacheDir: CACHE,
  maxSeqs: 1,
  prefixCacheN: 0,
  contextLen: 256,
  cacheType: "f16",
  pagedAttn: true,
  threads: 1,
  batch: 256,
  ubatch: 256,
  deviceLayers: 0,
  verbosity: 0,
};

/** A demo server with `tools` tools. */
function server(index: number, tools: number): McpServerConfig {
  const env = { DEMO_ONLY: "echo", DEMO_EXTRA: String(tools - 1) };
  const source = { type: "Process" as const, command: process.execPath, args: [DEMO], env };
  return { id: String(index), label: String(index), prefix: `server${index}`, source };
}

/** Connected servers, and the time to connect. */
async function connect(count: number, tools: number): Promise<{ servers: McpServers; ms: number }> {
  const begin = performance.now();
  const servers = new McpServers(
    {
      servers: Array.from({ length: count }, (_, index) => server(index, tools)),
      registersTools: true,
      toolTimeoutMs: 30_000,
      callsMax: 10,
    },
    { environment: process.env, log: () => {} },
  );
  await servers.tried();
  if (servers.connected !== count) throw new Error(`${servers.connected} of ${count} servers are connected`);
  return { servers, ms: performance.now() - begin };
}

async function roundTrips(tool: McpTool): Promise<readonly number[]> {
  const { signal } = new AbortController();
  const times: number[] = [];
  for (let call = 0; call < CALLS; call++) {
    const begin = performance.now();
    await tool.call({ text: "x" }, signal);
    times.push(performance.now() - begin);
  }
  return times.slice(CALLS / 10); // drop the first ones: JIT warm-up
}

/** Tokens of a prompt with these tools, and the times to render it. */
function render(
  backend: LlamaBackend,
  tools: readonly ToolSpec[],
): { readonly tokens: number; readonly ms: readonly number[] } {
  const { prompt } = chatRequest("Hello");
  if (prompt.type !== "chat") throw new Error("a chat request has a chat prompt");
  const ms: number[] = [];
  let tokens = 0;
  for (let run = 0; run < RENDERS; run++) {
    const begin = performance.now();
    const pending = backend.render({ ...prompt, tools, toolChoice: { type: "auto" } });
    let rendered = pending.take(1000);
    while (rendered === undefined) rendered = pending.take(1000);
    ms.push(performance.now() - begin);
    tokens = rendered.tokens.length;
    rendered.free();
  }
  return { tokens, ms };
}

function row(what: string, value: string): void {
  console.log(`| ${what.padEnd(44)} | ${value.padStart(28)} |`);
}

async function main(): Promise<void> {
  row("measured", "median (90th percentile)");
  const one = await connect(1, 1);
  const [echo] = one.servers.tools();
  if (echo === undefined) throw new Error("the demo server lists no tool");
  const trips = await roundTrips(echo);
  const us = (share: number): string => (1000 * quantile(trips, share)).toFixed(0);
  row(`one call over stdio, ${CALLS} sequential`, `${us(0.5)} us (${us(0.9)} us)`);
  await one.servers.close();
  row("connect to 1 process with 1 tool", `${one.ms.toFixed(0)} ms`);
  const many = await connect(10, 100);
  row("connect to 10 processes with 100 tools each", `${many.ms.toFixed(0)} ms`);
  const begin = performance.now();
  many.servers.tools();
  row("sanitizing their 1000 schemas, once", `${(performance.now() - begin).toFixed(1)} ms`);
  const specs = many.servers.tools().map(({ name, description, parameters, strict }) => {
    return { name, description, parameters, strict };
  });
  await many.servers.close();
  const native = openNative(unpackLibraries(CACHE), 0);
  const backend = await LlamaBackend.load(native, MODEL, BACKEND);
  const bare = render(backend, []);
  for (const count of [10, 100, 1000]) {
    const { tokens, ms } = render(backend, specs.slice(0, count));
    const added = tokens - bare.tokens;
    row(`${count} tools in a prompt`, `${added} tokens, ${quantile(ms, 0.5).toFixed(0)} ms`);
  }
  backend.close();
}

await main();
