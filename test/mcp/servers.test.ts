// Several MCP servers: tool names, the limit on concurrent calls and its semaphore.

import { expect, test } from "bun:test";
import { Semaphore } from "../../src/core/semaphore.ts";
import { failure } from "../helpers/failure.ts";
import { httpDemo, testServers, textOf } from "../helpers/mcp.ts";
import { until } from "../helpers/until.ts";

test("names: with prefix, without, and the first of duplicates", async () => {
  const source = { type: "Http", url: httpDemo().url } as const;
  const servers = await testServers([
    { source, prefix: "a" },
    { source },
    { source, label: "late" },
    { source, prefix: "svc_x" },
  ]);
  const names = servers.tools().map(({ name }) => name);
  expect(names.slice(0, 2)).toEqual(["a_echo", "a_environment"]);
  expect(names.slice(10, 12)).toEqual(["echo", "environment"]);
  expect(names).toHaveLength(20);
  expect(new Set(names).size).toBe(20);
  expect(servers.logged).toContain(
    "MCP server late: tool echo is ignored: another server has a tool of this name; set tool_prefix",
  );
  expect(servers.logged.filter((line) => line.includes("tool svc_x_"))).toHaveLength(10);
  expect(textOf(await servers.ask("a_echo", { text: "both" }))).toBe("both");
});

test("auto_register_tools off: connected, but no tools for models", async () => {
  const source = { type: "Http", url: httpDemo().url } as const;
  const servers = await testServers([{ source }], { registersTools: false });
  expect(servers.connected).toBe(1);
  expect(servers.tools()).toEqual([]);
});

test("the call limit applies to all servers together; an aborted call leaves the queue", async () => {
  const notes: string[] = [];
  const one = httpDemo({ note: (what) => void notes.push(what) });
  const servers = await testServers(
    [
      { source: { type: "Http", url: one.url }, prefix: "a" },
      { source: { type: "Http", url: httpDemo().url }, prefix: "b" },
    ],
    { callsMax: 2 },
  );
  const leaving = new AbortController();
  const held = [1, 2].map(() =>
    servers
      .tool("a_wait")
      .call({}, leaving.signal)
      .catch(() => "left"),
  );
  await until("two calls are held", () => notes.length === 2);
  const impatient = new AbortController();
  const given = servers.tool("b_echo").call({ text: "no" }, impatient.signal);
  const waiting = servers.ask("b_echo", { text: "yes" });
  impatient.abort(new Error("gave up"));
  expect(await failure(given)).toContain("gave up");
  expect(await Promise.race([waiting, Promise.resolve("still waiting")])).toBe("still waiting");
  leaving.abort();
  expect(textOf(await waiting)).toBe("yes");
  expect(await Promise.all(held)).toEqual(["left", "left"]);
});

test("the semaphore: FIFO, never over its limit, no slot lost", async () => {
  const gate = new Semaphore(3);
  const signal = new AbortController().signal;
  const entered: number[] = [];
  let inside = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const leave = await gate.enter(signal);
      entered.push(index);
      most = Math.max(most, ++inside);
      await Promise.resolve();
      inside--;
      leave();
    }),
  );
  expect(most).toBe(3);
  expect(entered).toEqual(Array.from({ length: 20 }, (_, index) => index));
  expect(await failure(gate.enter(AbortSignal.abort(new Error("before"))))).toContain("before");
  const places = await Promise.all([1, 2, 3].map(() => gate.enter(signal)));
  expect(places).toHaveLength(3);
});
