// Finds broken model files without reading their weights, whatever is in them.

import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { GgufProblem, HeaderCut } from "../../src/core/gguf.ts";
import { checkGguf } from "../../src/core/gguf-check.ts";
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
    expect(error.constructor === GgufProblem || error instanceof HeaderCut).toBe(true); // found, not stumbled over
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
  const {
    bytes,
    header: { tensors },
  } = checkGguf(TINY_FILE);
  expect({ bytes, tensors: tensors.size }).toEqual({ bytes: TINY.length, tensors: 56 });
});

test.each([4, 20, 100, 10_000, 100_000])("a file truncated after %i bytes is reported", (length) => {
  expect(reasonOf(TINY.subarray(0, length))).toContain("truncated");
});

test("an empty file is reported", () =>
  expect(reasonOf(new Uint8Array())).toBe("it is not a GGUF file, but empty"));

test("a file truncated within the weights is reported", () => {
  expect(reasonOf(TINY.subarray(0, TINY.length >> 1))).toContain("bytes behind the end of the file");
});

const MAX = 2n ** 64n - 1n;
/** Version, no tensors, three fields, the first key: "k". */
const FIRST_KEY: readonly (readonly [bigint, number])[] = [
  [3n, 4],
  [0n, 8],
  [3n, 8],
  [1n, 8],
  [0x6bn, 1],
];

describe("damage", () => {
  test.each<[string, Uint8Array, string]>([
    [
      "another format",
      Buffer.from("PK\u0003\u0004 and more of it"),
      "it is not a GGUF file, but a zip archive",
    ],
    ["version 1", header([1n, 4], [0n, 8], [0n, 8]), "GGUF of version 1, not 2 or 3"],
    ["the other byte order", header([0x3000000n, 4], [0n, 8], [0n, 8]), "for big-endian processors"],
    ["endless tensors", header([3n, 4], [MAX, 8], [0n, 8]), "tensors, more than 65536"],
    ["endless entries", header([3n, 4], [0n, 8], [MAX, 8]), "metadata fields, more than 16384"],
    [
      "an endless key",
      header([3n, 4], [0n, 8], [1n, 8], [MAX, 8]),
      "bytes of a metadata key, more than 4096",
    ],
    [
      "no key",
      header([3n, 4], [0n, 8], [1n, 8], [0n, 8], [4n, 4], [1n, 4]),
      "a metadata field without a key",
    ],
    ["an unknown type", header(...FIRST_KEY, [99n, 4]), 'the metadata field "k" is of the unknown type 99'],
    ["an endless text", header(...FIRST_KEY, [8n, 4], [MAX, 8]), 'bytes of "k", more than 8388608'],
    ["an endless list", header(...FIRST_KEY, [9n, 4], [4n, 4], [MAX, 8]), 'items of "k", more than 4194304'],
    [
      "an endless list of texts",
      header(...FIRST_KEY, [9n, 4], [8n, 4], [MAX, 8]),
      'items of "k", more than 4194304',
    ],
    ["a list of lists", header(...FIRST_KEY, [9n, 4], [9n, 4], [1n, 8]), "is of the unknown type 9"],
    ["the same key twice", header(...FIRST_KEY, [4n, 4], [0n, 4], [1n, 8], [0x6bn, 1], [4n, 4]), '"k" twice'],
    [
      "many dimensions",
      header([3n, 4], [1n, 8], [0n, 8], [1n, 8], [0x77n, 1], [99n, 4]),
      "has 99 axes, more than 4",
    ],
    [
      "a tensor larger than any file",
      header([3n, 4], [1n, 8], [0n, 8], [1n, 8], [0x77n, 1], [2n, 4], [1n << 40n, 8], [1n << 40n, 8]),
      "is larger than any file",
    ],
    [
      "a pointer",
      Buffer.from("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
      "a pointer of git LFS",
    ],
    ["a web page", Buffer.from("<!DOCTYPE html><title>Sign in</title>"), "a web page"],
    ["an error message", Buffer.from('{"error":"Entry not found"}'), "JSON"],
    ["zeros", Buffer.alloc(64), "zeros where its header should be"],
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
