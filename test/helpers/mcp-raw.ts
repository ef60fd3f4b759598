// An MCP server on stdin and stdout that is written by hand, so that it can break the protocol. Its mode is its argument.

import { createInterface } from "node:readline";

const [mode = "odd", waitMs = "0"] = process.argv.slice(2);

const ODD = [
  { name: "text", inputSchema: { type: "object" } },
  { name: "noschema" },
  { name: "empty", inputSchema: {}, description: null },
  { name: 5, inputSchema: { type: "object" } },
  { name: "text", inputSchema: { type: "object" }, description: "a twin" },
  { name: "admin.list", inputSchema: { type: "object" }, outputSchema: { type: "object" } },
];

interface Request {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly _meta?: { readonly progressToken?: number | string } };
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

const MODERN_VERSION = "2026-07-28";

function answer(request: Request): void {
  const { id, method, params } = request;
  if (id === undefined) return;
  const reply = (result: object): void => send({ id, result: { resultType: "complete", ...result } });
  const refuse = (code: number, message: string, data?: object): void =>
    send({ id, error: { code, message, ...(data === undefined ? {} : { data }) } });
  switch (method) {
    case "server/discover":
      if (mode === "silent") return;
      if (mode === "strict") process.exit(7); // ends at anything before `initialize`
      if (mode !== "modern") return refuse(-32601, "Method not found");
      return reply({
        supportedVersions: [MODERN_VERSION],
        capabilities: { tools: {} },
        ttlMs: 0,
        cacheScope: "private",
      });
    case "initialize":
      if (mode === "modern")
        return refuse(-32022, "Unsupported protocol version", {
          supported: [MODERN_VERSION],
          requested: "2025-11-25",
        });
      return reply({
        protocolVersion: mode === "strange" ? "1999-01-01" : "2025-06-18",
        capabilities: { tools: {}, resources: {} },
        serverInfo: { name: "raw", version: "1" },
        instructions: "Call text first.",
      });
    case "resources/list":
      return reply({
        resources: [{ uri: "raw://a", name: "a" }, { name: "odd" }],
        ttlMs: 0,
        cacheScope: "private",
      });
    case "resources/templates/list":
      return reply({ resourceTemplates: [{ uriTemplate: "raw://{name}", name: "any" }] });
    case "resources/read":
      return reply({ contents: [{ uri: "raw://a", text: "the content" }] });
    case "tools/list":
      return reply({ tools: ODD, ttlMs: 0, cacheScope: "private" });
    case "tools/call":
      return void called(params?.name ?? "", params?._meta?.progressToken, reply);
    default:
      return refuse(-32601, "Method not found");
  }
}

async function called(
  name: string,
  token: number | string | undefined,
  reply: (result: object) => void,
): Promise<void> {
  // Reports every 100 ms for longer than the caller waits without a report.
  const steps = mode === "progress" ? 15 : 0;
  for (let step = 1; step <= steps; step++) {
    await Bun.sleep(100);
    const message = step === 3 ? "step 3 \u0007".repeat(10_000) : `step ${step}`;
    const params = { progressToken: token, progress: step, total: 15, message };
    send({ method: "notifications/progress", params });
  }
  reply({
    content: [
      { type: "video", url: "x" },
      { type: "text", text: `${name}: ok \ud800` },
    ],
  });
}

if (mode === "crash") throw new Error("API_KEY is required");
await Bun.sleep(Number(waitMs));
process.stderr.write(`raw server in mode ${mode}\n`);
for await (const line of createInterface({ input: process.stdin })) answer(JSON.parse(line));
