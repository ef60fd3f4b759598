import { describe, expect, test } from "bun:test";
import type { RenderedPrompt } from "../../../src/worker/text/backend.ts";
import { MediaStore } from "../../../src/worker/text/media.ts";
import { chunksFrom, cutFrom, positionOf, wholeChunks } from "../../../src/worker/text/media-layout.ts";
import type { MediaChunk } from "../../../src/worker/text/media-backend.ts";
import { FakeBackend, fakeTokens } from "../../helpers/fake-backend.ts";

const PROMPT = {} as RenderedPrompt;

/** A store over an encoder that needs so many looks, and room for so many encodings of a kilobyte. */
function storeOf(room: number, encodeSteps = 0): { store: MediaStore; backend: FakeBackend } {
  const sizes = { cells: 64, batch: 64, ubatch: 64, contextTokens: 64, eogOneIn: 10 };
  const backend = new FakeBackend({ maxSeqs: 1, slots: 1, ...sizes, encodeSteps });
  let clock = 0;
  return { store: new MediaStore(backend, room * 1024, () => (clock += 1000)), backend };
}

/** A sequence with these pictures, four tokens each. */
function userOf(...names: readonly string[]): { readonly media: readonly MediaChunk[] } {
  const content = names.map((name) => ({ type: "image", data: `${name}:4` }) as const);
  return { media: fakeTokens([{ role: "user", content }]).media };
}

describe("MediaStore", () => {
  test("a content is encoded once for all who show it, and kept for later ones", () => {
    const { store, backend } = storeOf(8);
    const [first, second] = [userOf("cat", "dog", "cat"), userOf("cat")];
    store.request(first, PROMPT, 0);
    store.request(second, PROMPT, 0);
    expect([store.pending, store.has(second, 0)]).toEqual([2, false]);
    store.poll(0);
    store.poll(0);
    expect([store.pending, store.has(first, 0), store.has(second, 0), backend.encoded]).toEqual([
      0,
      true,
      true,
      2,
    ]);
    store.release(first, 4); // the first cat is computed, the last one is not
    expect(store.has(first, 0)).toBe(true);
    store.release(first);
    store.release(second);
    expect(store.has(first, 0)).toBe(false);
    store.request(userOf("dog"), PROMPT, 0);
    expect(backend.encoded).toBe(2);
    expect(store.counted()).toMatchObject({ mediaEncoded: 2, mediaReused: 1 });
    expect(store.counted().mediaSecs).toBeGreaterThan(0);
    store.clear();
    expect(backend.openEncodings).toBe(0);
  });

  test("what comes from the cache is not wanted", () => {
    const { store } = storeOf(8);
    const user = userOf("cat", "dog");
    store.request(user, PROMPT, 4);
    expect(store.pending).toBe(1);
    store.poll(0);
    expect([store.has(user, 4), store.has(user, 0)]).toEqual([true, false]);
  });

  test("an encoding that nobody waits for any more is dropped", () => {
    const { store, backend } = storeOf(8, 5);
    const [first, second] = [userOf("cat"), userOf("cat")];
    store.request(first, PROMPT, 0);
    store.request(second, PROMPT, 0);
    store.release(first);
    expect(store.pending).toBe(1);
    store.release(second);
    expect(store.pending).toBe(0);
    for (let i = 0; i < 10; i++) store.poll(0);
    expect(backend.encoded).toBe(0);
  });

  test("beyond its room the least recently wanted go, but none that is needed", () => {
    const { store, backend } = storeOf(2);
    const users = ["a", "b", "c", "d"].map((name) => userOf(name));
    for (const user of users) store.request(user, PROMPT, 0);
    while (store.pending > 0) store.poll(0);
    expect(backend.openEncodings).toBe(4);
    for (const user of users) store.release(user);
    expect(backend.openEncodings).toBe(2);
    store.request(userOf("d"), PROMPT, 0);
    expect(store.pending).toBe(0);
    store.request(userOf("a"), PROMPT, 0);
    expect(store.pending).toBe(1);
  });
});

test("places within media", () => {
  const content = [
    { type: "text", text: "ab" },
    { type: "image", data: "x:6.wide" },
    { type: "text", text: "c" },
    { type: "image", data: "y:3" },
  ] as const;
  const { media } = fakeTokens([{ role: "user", content }]); // a b x x x x x x c y y y
  expect([0, 2, 8, 9, 12].map((token) => positionOf(media, token))).toEqual([0, 2, 5, 6, 9]);
  expect([1, 2, 3, 7, 8, 10, 12].map((count) => wholeChunks(media, count))).toEqual([1, 2, 2, 2, 8, 9, 12]);
  expect([1, 2, 3, 8, 9, 10].map((token) => cutFrom(media, token))).toEqual([1, 2, 8, 8, 9, 12]);
  expect(chunksFrom(media, 8)).toMatchObject([{ index: 1, at: 1, tokens: 3 }]);
});
