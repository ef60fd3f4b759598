// svc quantize through the executable.

import { expect, test } from "bun:test";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runBinary, TINY_FILE } from "../helpers/binary.ts";

test("a model is written anew, smaller, and answers", async () => {
  const cwd = newFolder();
  const { exit, out } = await runBinary(["quantize", TINY_FILE, "q4_k_m"], { cwd });
  expect(exit).toBe(0);
  const made = join(cwd, "tiny-Q4_K_M.gguf");
  expect(out.trim()).toEndWith("tiny-Q4_K_M.gguf");
  expect(statSync(made).size).toBeLessThan(0.8 * statSync(TINY_FILE).size);
  const words = ["run", "-m", made, "--seed", "1", "-i", "What is the capital of France?", "--no-thinking"];
  expect((await runBinary(words, { cwd })).out.trim()).toBe("The capital of France is Paris.");
  const coarse = await runBinary(["quantize", made, "q5_k_m"], { cwd });
  expect([coarse.exit, coarse.err]).toEqual([
    0,
    expect.stringContaining("tiny-Q4_K_M.gguf holds Q4_K_M weights, whose error stays in Q5_K_M"),
  ]);
  const again = await runBinary(["quantize", TINY_FILE, "4"], { cwd });
  expect([again.exit, again.err]).toEqual([
    2,
    expect.stringContaining("tiny-Q4_K_M.gguf exists. Name another"),
  ]);
}, 60_000);

test("the model inside the executable can be quantized too, and what cannot be done is said", async () => {
  const cwd = newFolder();
  const own = await runBinary(["quantize", "svc-tiny", "Q8_0", "-o", "own.gguf"], { cwd });
  expect([own.exit, existsSync(join(cwd, "own.gguf"))]).toEqual([0, true]);
  const cases: readonly [string[], number, string][] = [
    [["quantize", TINY_FILE, "Q9"], 2, "is not a type"],
    [["quantize", TINY_FILE, "IQ2_XXS"], 2, "--imatrix"],
    [["quantize", TINY_FILE, "Q4_0", "--imatrix", TINY_FILE], 1, "importance matrix"],
  ];
  for (const [words, code, said] of cases) {
    const ended = await runBinary(words, { cwd });
    expect([ended.exit, ended.err]).toEqual([code, expect.stringContaining(said)]);
  }
  writeFileSync(join(cwd, "broken.gguf"), "GGUF and nothing else");
  const broken = await runBinary(["quantize", join(cwd, "broken.gguf"), "Q4_0"], { cwd });
  expect(broken.exit).not.toBe(0);
  expect(existsSync(join(cwd, "broken-Q4_0.gguf"))).toBe(false);
}, 60_000);
