// Which checkpoints are found, and which give way.

import { expect, test } from "bun:test";
import type { SamplerHandle, SlotId, StateBackend } from "../../../src/worker/text/backend.ts";
import { CellBook } from "../../../src/worker/text/cells.ts";
import { Partitions } from "../../../src/worker/text/partition.ts";
import { PrefixIndex } from "../../../src/worker/text/prefix-index.ts";
import { Sequence } from "../../../src/worker/text/sequence.ts";
import { lastBoundary, StateSharing } from "../../../src/worker/text/state-sharing.ts";

const STATE_BYTES = 100_000;
const PARTITIONS = new Partitions();

function sequence(tokens: readonly number[], adapter = 0): Sequence {
  const made = new Sequence(undefined, Int32Array.from(tokens), 1n as SamplerHandle, {
    partition: PARTITIONS.of(adapter),
  });
  made.computed = tokens.length;
  return made;
}

function words(count: number, seed: number): number[] {
  return Array.from({ length: count }, (_, i) => i * 7 + seed);
}

interface Checkpoints {
  readonly index: PrefixIndex;
  readonly sharing: StateSharing;
}

function checkpointsOf(bytesMax: number, states: Partial<StateBackend> = {}, now = () => 0): Checkpoints {
  const book = new CellBook(1, 1);
  const index = new PrefixIndex({
    reuse: "whole",
    book,
    tiers: undefined,
    keptMax: 1,
    states: { alone: true, everyTokens: 1 },
  });
  const backend = {
    alone: true,
    identity: () => "",
    save: () => undefined,
    restore: () => true,
    isMarkup: () => false,
    ...states,
  };
  return { index, sharing: new StateSharing(backend, index, bytesMax, now) };
}

function saved(checkpoints: Checkpoints, tokens: readonly number[], adapter = 0): void {
  checkpoints.sharing.add(sequence(tokens, adapter), tokens.length, new Uint8Array(STATE_BYTES));
}

function found(checkpoints: Checkpoints, tokens: readonly number[], adapter = 0): number | undefined {
  return checkpoints.index.checkpointOf(sequence(tokens, adapter), tokens.length)?.tokens.length;
}

test("the longest beginning is found, of the same adapter alone", () => {
  const checkpoints = checkpointsOf(10 * STATE_BYTES);
  const tokens = words(300, 1);
  for (const length of [100, 200]) saved(checkpoints, tokens.slice(0, length));
  saved(checkpoints, tokens.slice(0, 250), 7);
  expect(found(checkpoints, tokens)).toBe(200);
  expect(found(checkpoints, tokens.slice(0, 150))).toBe(100);
  expect(found(checkpoints, tokens, 7)).toBe(250);
  checkpoints.sharing.drop(checkpoints.index.ofAdapter(7).checkpoints);
  expect(found(checkpoints, tokens, 7)).toBeUndefined();
});

test("what many prompts begin with outlives their ends, and the latest turn the ones before", () => {
  const checkpoints = checkpointsOf(4.5 * STATE_BYTES);
  const system = words(1000, 1);
  saved(checkpoints, system);
  for (let user = 0; user < 12; user++) saved(checkpoints, [...system, ...words(40, 1000 + user)]);
  expect(checkpoints.sharing.counted().checkpoints).toBe(4);
  expect(checkpoints.sharing.counted().checkpointBytes).toBeLessThanOrEqual(4.5 * STATE_BYTES);
  expect(found(checkpoints, [...system, ...words(50, 5000)])).toBe(1000);
  expect(found(checkpoints, [...system, ...words(60, 1011)])).toBe(1040);
});

test("a state larger than all the room is not kept", () => {
  const checkpoints = checkpointsOf(STATE_BYTES);
  saved(checkpoints, words(100, 1));
  expect(checkpoints.sharing.counted()).toEqual({
    checkpoints: 0,
    checkpointBytes: 0,
    checkpointsRestored: 0,
  });
});

test("the boundary lies before the markup that opens the answer", () => {
  const isMarkup = (token: number): boolean => token === 9;
  const user = [9, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 9];
  const boundary = (opening: readonly number[]): number =>
    lastBoundary(Int32Array.from([...user, ...opening]), isMarkup);
  expect(boundary([1, 9, 2, 3, 9, 4, 9, 5])).toBe(user.length - 1); // the end of the message is markup, too
  expect(boundary([1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3])).toBe(user.length + 7); // none within reach: nearly all
  expect(lastBoundary(Int32Array.of(1, 2), isMarkup)).toBe(1);
});

test.each([
  ["of a device is copied where that takes less time than its tokens", true],
  ["of the CPU is copied always", false],
])("a state %s", (_, isOnDevice) => {
  let nowMs = 0;
  const save = (): Uint8Array => {
    nowMs += 10;
    return new Uint8Array(STATE_BYTES);
  };
  const { sharing } = checkpointsOf(10 * STATE_BYTES, { isOnDevice, save }, () => nowMs);
  const isSaved = (tokens: number, seed: number): boolean => {
    const ended = sequence(words(tokens, seed));
    ended.slot = 0 as SlotId;
    return sharing.ended(ended) !== undefined;
  };
  expect(isSaved(100, 1)).toBe(true); // nothing is known yet
  sharing.prefillTokenMs = 0.1;
  expect(isSaved(100, 2)).toBe(!isOnDevice);
  expect(isSaved(1000, 3)).toBe(true);
  expect(isSaved(1100, 3)).toBe(!isOnDevice); // 100 tokens after the last one
});
