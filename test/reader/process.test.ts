// Reader processes: what they read cannot stop or fill the server.

import { expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { decode } from "fast-png";
import { ReaderFailure, readerProcesses } from "../../src/reader/process.ts";
import { tiff } from "../helpers/media-bytes.ts";
import { mediaFixture } from "../helpers/media-fixtures.ts";

const NEVER = new AbortController().signal;
const image = (bytes: Uint8Array) => ({ data: bytes.toBase64(), framesMax: 1, framesPerSecond: 2 });

test("a file that its decoder never finishes is given up, and the next one is read", async () => {
  // No code of fax machines is that long, and its decoder looks for it bit after bit.
  const endless = tiff({ 256: [64], 257: [64], 258: [1], 259: [4], 262: [0], 277: [1] }, new Uint8Array(1e6));
  const hasty = readerProcesses({ timeoutMs: 700, atOnce: 1 });
  const failure: unknown = await hasty("image", image(endless), NEVER).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ReaderFailure);
  expect(failure).toMatchObject({ isLate: true });
  const patient = readerProcesses({ timeoutMs: 30_000, atOnce: 1 });
  expect(await patient("image", image(mediaFixture("lossy.webp")), NEVER)).toMatchObject({ total: 1 });
});

test.skipIf(process.env["SVC_SLOW_TESTS"] !== "1")("a photo of 48 million pixels (slow)", async () => {
  const run = readerProcesses({ timeoutMs: 120_000, atOnce: 1 });
  const reply = await run("image", image(gunzipSync(mediaFixture("red48.heic.gz"))), NEVER);
  const shown = "frames" in reply ? (reply.frames[0]?.png ?? "") : "";
  const { width, height, data } = decode(Uint8Array.fromBase64(shown));
  expect([width, height]).toEqual([2364, 1773]);
  expect(data[0]).toBeGreaterThan(240);
  expect(data[1]).toBeLessThan(16);
});

test("a GIF whose table of codes leads in a circle is read or a problem", async () => {
  for (const changes of [
    { 97: 86, 188: 251, 284: 132 },
    { 31: 255, 259: 149, 280: 2 },
  ]) {
    const bytes = Object.assign(mediaFixture("animated.gif"), changes);
    const run = readerProcesses({ timeoutMs: 20_000, atOnce: 1 });
    expect(await run("image", image(bytes), NEVER)).toBeObject();
  }
});

test("a sound of 2 GHz, whose filter would fill the memory, is a problem at once", async () => {
  const bytes = Object.assign(mediaFixture("tone.ogg"), { 43: 118 });
  const run = readerProcesses({ timeoutMs: 10_000, atOnce: 1 });
  expect(await run("sound", { data: bytes.toBase64(), secondsMax: 10 }, NEVER)).toEqual({
    problem: "damaged",
  });
});

test.skipIf(process.platform !== "linux")("a file that wants gigabytes is a problem", async () => {
  const bytes = mediaFixture("lzw.tiff");
  const view = new DataView(bytes.buffer);
  // The directory's width and height: a claim that the server refuses by the head.
  const directory = view.getUint32(4, true);
  for (let at = directory + 2; at < directory + 2 + 12 * view.getUint16(directory, true); at += 12)
    if ([256, 257].includes(view.getUint16(at, true))) view.setUint16(at + 8, 60_000, true);
  const run = readerProcesses({ timeoutMs: 30_000, atOnce: 1 });
  const reply: unknown = await run("image", image(bytes), NEVER).catch((error: unknown) => error);
  if (reply instanceof ReaderFailure) expect(reply.isLate).toBe(false);
  else expect(reply).toHaveProperty("problem");
});
