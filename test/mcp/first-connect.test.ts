// When conversations begin on a server that is still connecting to MCP servers, and what its cards tell.

import { expect, test } from "bun:test";
import { SERVER } from "../../src/core/caller.ts";
import { afterFirstTry, toolCountsOf } from "../../src/mcp/first-connect.ts";
import type { Converse } from "../../src/core/agent.ts";
import { asking } from "../helpers/agent.ts";
import { failure } from "../helpers/failure.ts";
import { ACCEPTED, FINISH } from "../helpers/run-events.ts";

const never = new AbortController().signal;

function waiting(waitingMax = 10) {
  const tried = Promise.withResolvers<void>();
  let begun = 0;
  const converse: Converse = () => {
    begun++;
    return (async function* () {
      yield ACCEPTED;
      yield FINISH;
    })();
  };
  return {
    tried,
    begun: () => begun,
    converse: afterFirstTry({ tried: () => tried.promise }, waitingMax, converse),
  };
}

test("a conversation begins once all servers were tried", async () => {
  const { tried, begun, converse } = waiting();
  const events = Array.fromAsync(converse(asking(), never, SERVER));
  await Promise.resolve();
  expect(begun()).toBe(0);
  tried.resolve();
  expect(await events).toEqual([ACCEPTED, FINISH]);
});

test("a conversation of a disconnected client ends without starting", async () => {
  const { begun, converse } = waiting();
  const leaving = new AbortController();
  const events = Array.fromAsync(converse(asking(), leaving.signal, SERVER));
  leaving.abort();
  expect(await events).toEqual([]);
  expect(await Array.fromAsync(converse(asking(), leaving.signal, SERVER))).toEqual([]);
  expect(begun()).toBe(0);
});

test("the number of waiting conversations is bounded; a disconnected one frees its place", async () => {
  const { tried, converse } = waiting(1);
  const leaving = new AbortController();
  const first = Array.fromAsync(converse(asking(), leaving.signal, SERVER));
  expect(await failure(Array.fromAsync(converse(asking(), never, SERVER)))).toContain("already waiting");
  leaving.abort();
  await first;
  const next = Array.fromAsync(converse(asking(), never, SERVER));
  tried.resolve();
  expect(await next).toEqual([ACCEPTED, FINISH]);
});

test("later conversations do not wait; unmet requests fail immediately", async () => {
  const { tried, begun, converse } = waiting();
  tried.resolve();
  await tried.promise;
  await Promise.resolve();
  converse(asking(), never, SERVER);
  expect(begun()).toBe(1);
});

test("model cards report the tools", () => {
  expect(toolCountsOf(undefined, false)).toBeUndefined();
  expect(toolCountsOf(undefined, true)?.()).toEqual({ isAny: true, mcpTools: 0, mcpServers: 0 });
});
