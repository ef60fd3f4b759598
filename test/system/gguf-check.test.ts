// Finds broken model files without reading their weights, whatever is in them.

import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { checkGguf } from "../../src/system/gguf-check.ts";
import { TINY_FILE } from "../helpers/binary.ts";
import { tempDir } from "../helpers/tmp.ts";

const TINY = readFileSync(TINY_FILE);
const FILE = join(tempDir(), "model.gguf");

function reasonOf(bytes: Uint8Array): string {
  writeFileSync(FILE, bytes);
  try {
    checkGguf(FILE);
    return "";
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    expect(error.constructor).toBe(Error); // found, not stumbled over
    expect(error.message).not.toContain(FILE);
    return error.message;
  }
}

/** A header of these numbers, each as [value, bytes]. */
function header(...numbers: readonly (readonly [bigint, number])[]): Uint8Array {
  const parts = numbers.map(([value, bytes]) => {
    const part = Buffer.alloc(8);
    part.writeBigUInt64LE(value);
    return part.subarray(0, bytes);
  });
  return Buffer.concat([Buffer.from("GGUF"), ...parts]);
}

test("the built-in model is valid", () => {
  expect(checkGguf(TINY_FILE)).toEqual({ bytes: TINY.length, tensors: 56 });
});

test.each([0, 3, 4, 20, 100, 10_000, 100_000])("a file truncated after %i bytes is reported", (length) => {
  expect(reasonOf(TINY.subarray(0, length))).toContain("truncated");
});

test("a file truncated within the weights is reported", () => {
  expect(reasonOf(TINY.subarray(0, TINY.length >> 1))).toContain("truncated");
});

const MAX = 2n ** 64n - 1n;

describe("damage", () => {
  test.each<[string, Uint8Array, string]>([
    ["another format", Buffer.from("PK\u0003\u0004 and more of it"), "not a GGUF file"],
    ["version 1", header([1n, 4], [0n, 8], [0n, 8]), "not a GGUF file of version 2 or 3"],
    [
      "version of the other byte order",
      header([0x3000000n, 4], [0n, 8], [0n, 8]),
      "not a GGUF file of version 2 or 3",
    ],
    ["endless tensors", header([3n, 4], [MAX, 8], [0n, 8]), "header is damaged"],
    ["endless entries", header([3n, 4], [0n, 8], [MAX, 8]), "header is damaged"],
    ["an endless key", header([3n, 4], [0n, 8], [1n, 8], [MAX, 8]), "header is damaged"],
    ["an unknown type", header([3n, 4], [0n, 8], [1n, 8], [0n, 8], [99n, 4]), "unknown GGUF value type 99"],
    ["an endless list", header([3n, 4], [0n, 8], [1n, 8], [0n, 8], [9n, 4], [4n, 4], [MAX, 8]), "truncated"],
    [
      "an endless list of texts",
      header([3n, 4], [0n, 8], [1n, 8], [0n, 8], [9n, 4], [8n, 4], [MAX, 8]),
      "truncated",
    ],
    [
      "a list of lists",
      header([3n, 4], [0n, 8], [1n, 8], [0n, 8], [9n, 4], [9n, 4], [1n, 8]),
      "header is damaged",
    ],
    [
      "a tensor of many dimensions",
      header([3n, 4], [1n, 8], [0n, 8], [0n, 8], [99n, 4]),
      "header is damaged",
    ],
  ])("%s", (_, bytes, reason) => expect(reasonOf(bytes)).toContain(reason));

  test("any changed byte is handled", () => {
    const head = TINY.subarray(0, 4096);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(head.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }),
        (edits) => {
          const bytes = Buffer.from(TINY);
          for (const [at, value] of edits) bytes[at] = value;
          reasonOf(bytes);
        },
      ),
      { numRuns: 200, seed: 1 },
    );
  });
});

test("a missing file", () => {
  expect(() => checkGguf(join(tempDir(), "none.gguf"))).toThrow("cannot be opened");
});
