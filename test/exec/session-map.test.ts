// Which session's interpreter and folder go when there are too many.

import { expect, onTestFinished, test } from "bun:test";
import { EXEC_SESSIONS_MAX } from "../../src/exec/limits.ts";
import { SessionMap } from "../../src/exec/session-map.ts";

function newMap() {
  const closed: string[] = [];
  const map = new SessionMap((id) => ({ stop: () => {}, close: async () => void closed.push(id) }));
  onTestFinished(() => map.close());
  const use = (client: string, sessionId: string, isBrief: boolean): Promise<void> =>
    map.use({ client, sessionId, isBrief }, async () => {});
  return { map, closed, use };
}

test("a named session outlives any number of others that have no name", async () => {
  const { map, closed, use } = newMap();
  await use("alice", "work", false);
  for (let n = 0; n < EXEC_SESSIONS_MAX + 2; n++) await use("bob", `once-${n}`, true);
  for (let n = 0; n < EXEC_SESSIONS_MAX + 2; n++) await use("alice", `also-once-${n}`, true);
  expect(closed).not.toContain("work");
  expect(map.size).toBe(EXEC_SESSIONS_MAX);
});

test("a client with many named sessions loses its own oldest one", async () => {
  const { closed, use } = newMap();
  await use("alice", "work", false);
  for (let n = 0; n < EXEC_SESSIONS_MAX + 2; n++) await use("bob", `b-${n}`, false);
  expect(closed).toEqual(["b-0", "b-1", "b-2"]);
});

test("a session that is named later counts as named", async () => {
  const { closed, use } = newMap();
  await use("alice", "first", true);
  await use("alice", "first", false);
  for (let n = 0; n < EXEC_SESSIONS_MAX; n++) await use("bob", `once-${n}`, true);
  expect(closed).toEqual(["once-0"]);
});
