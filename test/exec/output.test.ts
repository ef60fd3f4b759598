// What is kept of what a process writes.

import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { Output } from "../../src/exec/output.ts";

async function* pieces(...texts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

test("all of it, in pieces of any size, while it is little", async () => {
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

test("characters that are cut in two are left out whole", async () => {
  const output = new Output(6);
  await output.drain(pieces("aäöxöäz"));
  expect(output.take()).toBe("aä\n[… 5 bytes left out …]\näz");
});

test("the mark is found behind any amount of output", async () => {
  const output = new Output(8);
  const marked = output.untilMark("<mark>");
  const drained = output.drain(pieces("x".repeat(100_000), "end<ma", "rk>late"));
  await marked;
  await drained;
  expect(output.take()).toEndWith("late");
});

test("a process that writes without end is held up", async () => {
  const child = spawn("sh", ["-c", "yes"], { stdio: ["ignore", "pipe", "ignore"], detached: true });
  const output = new Output(64 * 1024);
  const before = process.memoryUsage.rss();
  let most = 0;
  let bytes = 0;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 20);
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of child.stdout) {
      bytes += (chunk as Buffer).byteLength; // as the stream's type does not say
      yield chunk as Buffer;
    }
  }
  setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), 500);
  await output.drain(counted());
  clearInterval(timer);
  expect(output.take()).toContain("bytes left out");
  expect(bytes).toBeLessThan(500 * 512 * 1024); // a piece of at most 512 KiB each millisecond
  expect(most - before).toBeLessThan(64 * 2 ** 20);
});
