// What is kept of what a process writes.

import { expect, test } from "bun:test";
import { Output } from "../../src/exec/output.ts";

async function* pieces(...texts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

test("short output is kept completely, in chunks of any size", async () => {
  const output = new Output(10);
  await output.drain(pieces("ab", "", "cdefg", "hij"));
  expect(output.take()).toBe("abcdefghij");
  expect(output.take()).toBe("");
});

const TWENTY = "0123456789abcdefghij";

test.each([[[TWENTY]], [TWENTY.split("")], [["0123456789ab", "cdefghij"]]])(
  "beginning and end of more: %j",
  async (texts) => {
    const output = new Output(10);
    await output.drain(pieces(...texts));
    expect(output.take()).toBe("01234\n[… 10 bytes left out …]\nfghij");
  },
);

test("truncated characters are omitted", async () => {
  const output = new Output(6);
  await output.drain(pieces("aäöxöäz"));
  expect(output.take()).toBe("aä\n[… 5 bytes left out …]\näz");
});

test("the marker is found after any amount of output", async () => {
  const output = new Output(8);
  const marked = output.untilMark("<mark>");
  const drained = output.drain(pieces("x".repeat(100_000), "end<ma", "rk>late"));
  await marked;
  await drained;
  expect(output.take()).toEndWith("late");
});

test("endless output is throttled: at most one chunk per millisecond is read, and little is kept", async () => {
  const piece = Buffer.alloc(512 * 1024, "y\n");
  const output = new Output(64 * 1024);
  const startMs = performance.now();
  const endMs = startMs + 300;
  let read = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (; performance.now() < endMs; read++) yield piece;
  }
  await output.drain(endless());
  expect(read).toBeLessThanOrEqual(performance.now() - startMs + 2); // the first is free
  expect(output.take().length).toBeLessThan(65 * 1024);
});
