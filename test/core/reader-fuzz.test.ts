// Files of strangers, broken in every way: the readers of GGUF and safetensors give what is there or say what is wrong, with
// neither endless work nor memory that a few wrong bytes claim.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readGgufHeader, readWholeHeader } from "../../src/core/gguf-file.ts";
import { AdapterError } from "../../src/lora/adapter-error.ts";
import { Safetensors } from "../../src/lora/safetensors.ts";
import { TINY_FILE } from "../helpers/binary.ts";
import { seedOfRun } from "../helpers/seed.ts";
import { formula, safetensors } from "../helpers/peft.ts";
import { tempDir } from "../helpers/tmp.ts";

const RUNS = Number(process.env["SVC_FUZZ_RUNS"] ?? "500");
const SETTINGS = { numRuns: RUNS, seed: seedOfRun() };
const TIME_MS = 60_000 + RUNS * 50;
const FILE = join(tempDir(), "broken");

/** What a length, a count or an offset should never be. */
const NUMBERS = [0n, 1n, 0xffn, 0xffff_ffffn, 0x1_0000_0000n, 1n << 53n, (1n << 63n) - 1n, (1n << 64n) - 1n];

/** `valid` with a few of its bytes changed, among the first `head`, and perhaps its end cut off. */
function broken(valid: Uint8Array, head: number): fc.Arbitrary<Uint8Array> {
  const number = fc.constantFrom(...NUMBERS).map((value) => new Uint8Array(BigUint64Array.of(value).buffer));
  const change = fc.record({
    at: fc.nat(head),
    bytes: fc.oneof(number, fc.uint8Array({ minLength: 1, maxLength: 8 })),
  });
  const cut = fc.option(fc.nat(valid.length), { nil: valid.length, freq: 3 });
  return fc.tuple(fc.array(change, { minLength: 1, maxLength: 3 }), cut).map(([changes, end]) => {
    const copy = Buffer.from(valid);
    for (const { at, bytes } of changes) copy.set(bytes.subarray(0, copy.length - at), at);
    return copy.subarray(0, end);
  });
}

/** The beginning of the built-in model: its header, and then some. */
const GGUF = readFileSync(TINY_FILE).subarray(0, 400_000);

test(
  `${RUNS} GGUF files`,
  () => {
    let read = 0;
    const property = fc.property(broken(GGUF, 2000), (bytes) => {
      writeFileSync(FILE, bytes);
      for (const reader of [readGgufHeader, readWholeHeader]) {
        try {
          reader(FILE);
          read++;
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }
    });
    fc.assert(property, SETTINGS);
    expect(read).toBeGreaterThan(0);
  },
  TIME_MS,
);

const ADAPTER = safetensors({ "a.lora_A.weight": formula([2, 8], 0), "a.lora_B.weight": formula([8, 2], 1) });

test(
  `${RUNS} safetensors files`,
  () => {
    let refused = 0;
    const property = fc.property(broken(ADAPTER, ADAPTER.length - 1), (bytes) => {
      writeFileSync(FILE, bytes);
      try {
        const file = new Safetensors(FILE);
        for (const tensor of file.tensors.values()) file.read(tensor);
        file.close();
      } catch (error) {
        expect(error).toBeInstanceOf(AdapterError);
        refused++;
      }
    });
    fc.assert(property, SETTINGS);
    expect(refused).toBeGreaterThan(0);
  },
  TIME_MS,
);
