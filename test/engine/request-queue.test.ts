// The order in which requests reach an engine.

import { expect, test } from "bun:test";
import { defined } from "../../src/core/defined.ts";
import { RequestQueue } from "../../src/engine/request-queue.ts";
import { turns } from "../helpers/turns.ts";

const never = new AbortController().signal;

/** A queue, and what has happened to it: names of requests in the order of their turns. */
function setup(places: number, atOnce: number, computed = atOnce) {
  const queue = new RequestQueue({ places, atOnce, computed });
  const began: string[] = [];
  const leaves: (() => void)[] = [];
  const ask = async (client: string, signal = never, yields?: () => void): Promise<void> => {
    const leave = await queue.enter({ client, ...defined({ yields }) }, signal, true);
    began.push(client);
    leaves.push(leave);
  };
  /** The request that began first ends. */
  const end = async (): Promise<void> => {
    await Bun.sleep(0);
    leaves.shift()?.();
    await Bun.sleep(0);
  };
  return { queue, began, ask, end, leaves };
}

test("a light client waits for one request of a greedy client, not for all", async () => {
  const { began, ask, end } = setup(200, 2);
  for (let i = 0; i < 100; i++) void ask("greedy");
  void ask("light");
  void ask("light");
  await end();
  await end();
  await end();
  await end();
  expect(began).toEqual(["greedy", "greedy", "greedy", "light", "greedy", "light"]);
});

test("what yields waits for everybody and for a place to spare, and is ended where another would wait", async () => {
  const { began, ask, end, leaves } = setup(9, 3, 2);
  const ends: string[] = [];
  const aside = (name: string) => ask(name, never, () => void ends.push(name));
  void ask("a");
  void ask("b");
  void aside("later");
  void ask("c");
  void ask("d");
  await Bun.sleep(0);
  expect(began).toEqual(["a", "b", "c"]);
  await end();
  expect(began).toEqual(["a", "b", "c", "d"]);
  await end();
  expect(began).toHaveLength(4);
  await end();
  expect(began.at(-1)).toBe("later");
  expect(ends).toEqual([]);
  void ask("e");
  await Bun.sleep(0);
  expect([began.at(-1), ends]).toEqual(["e", ["later"]]);
  for (const leave of leaves) leave();
});

test("three clients take turns, each FIFO", async () => {
  const { began, ask, end } = setup(100, 1);
  for (const client of ["a", "a", "a", "b", "b", "c"]) void ask(client);
  for (let i = 0; i < 5; i++) await end();
  expect(began).toEqual(["a", "a", "b", "c", "a", "b"]);
});

test("a waiting client that disconnects gives up its turn and place", async () => {
  const { queue, began, ask, end } = setup(3, 1);
  const gone = new AbortController();
  void ask("a");
  const left = ask("b", gone.signal).catch((error: unknown) => String(error));
  void ask("a");
  expect(queue.waiting).toBe(2);
  gone.abort("it left");
  expect(await left).toBe("it left");
  expect(queue.waiting).toBe(1);
  void ask("c");
  await end();
  await end();
  expect(began).toEqual(["a", "a", "c"]);
});

test("a full queue rejects clients, except one below its share", async () => {
  const { ask } = setup(4, 1);
  for (let i = 0; i < 4; i++) void ask("greedy");
  expect(ask("greedy")).rejects.toMatchObject({ code: "queue_full", retryAfterSecs: 1 });
  void ask("light");
  expect(await Promise.race([ask("light"), turns().then(() => "waits")])).toBe("waits");
});
