// The order in which requests reach an engine.

import { expect, test } from "bun:test";
import { RequestQueue } from "../../src/engine/request-queue.ts";
import { turns } from "../helpers/turns.ts";

const never = new AbortController().signal;

/** A queue, and what has happened to it: names of requests in the order of their turns. */
function setup(places: number, atOnce: number) {
  const queue = new RequestQueue({ places, atOnce });
  const began: string[] = [];
  const leaves: (() => void)[] = [];
  const ask = async (client: string, signal = never): Promise<void> => {
    const leave = await queue.enter({ client }, signal, true);
    began.push(client);
    leaves.push(leave);
  };
  /** The request that began first ends. */
  const end = async (): Promise<void> => {
    await Bun.sleep(0);
    leaves.shift()?.();
    await Bun.sleep(0);
  };
  return { queue, began, ask, end };
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
