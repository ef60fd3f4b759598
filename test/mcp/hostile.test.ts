// Remote MCP servers that send endless messages: the connection fails and memory use stays flat.

import { afterEach, expect, test } from "bun:test";
import { testServers } from "../helpers/mcp.ts";

let server: ReturnType<typeof Bun.serve> | undefined;
afterEach(() => server?.stop(true));

/** An answer without an end. */
function endless(type: string): Response {
  const piece = Buffer.alloc(2 ** 20, "x");
  const body = new ReadableStream({ pull: (controller) => controller.enqueue(piece) });
  return new Response(body, { headers: { "content-type": type } });
}

/** A stream that breaks is waited for again until the handshake's time is over, half a minute. */
const TYPES =
  process.env["SVC_SLOW_TESTS"] === "1" ? ["application/json", "text/event-stream"] : ["application/json"];

test.each(TYPES)("an answer without an end, as %s", async (type) => {
  server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => endless(type) });
  const before = process.memoryUsage.rss();
  const servers = await testServers([
    {
      label: "endless",
      source: { type: "Http", url: `http://127.0.0.1:${server.port}/mcp`, timeout_secs: 2 },
    },
  ]);
  expect(servers.connected).toBe(0);
  expect(servers.logged.join("\n")).toContain("MCP server endless");
  expect(process.memoryUsage.rss() - before).toBeLessThan(512 * 2 ** 20);
});
