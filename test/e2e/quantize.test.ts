// svc quantize through the executable.

import { expect, test } from "bun:test";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { newFolder, runBinary, TINY_FILE } from "../helpers/binary.ts";

/** ggml.h: enum ggml_type */
const [Q8_0, Q6_K, IQ2_XXS] = [8, 14, 16];

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

test("a text calibrates types that need it; single tensors have types of their own, by the same statistics", async () => {
  const cwd = newFolder();
  writeFileSync(join(cwd, "text.txt"), "The capital of France is Paris. Seven days are a week. ".repeat(40));
  const words = ["quantize", TINY_FILE, "IQ2_XXS", "--calibrate", "text.txt", "-o", "typed.gguf"];
  const types = ["--type", "ffn_down=Q8_0", "--type", String.raw`blk\.0\.ffn=Q6_K`];
  const made = await runBinary([...words, ...types], { cwd });
  expect([made.exit, made.err]).toEqual([0, expect.stringContaining("reads text.txt first")]);
  expect(readdirSync(cwd).toSorted()).toEqual(["text.txt", "typed.gguf"]);
  const { tensors } = readGgufHeader(join(cwd, "typed.gguf"));
  const typeOf = (name: string) => tensors.get(name)?.type;
  expect(tensors.size).toBe(readGgufHeader(TINY_FILE).tensors.size);
  expect([typeOf("blk.1.ffn_down.weight"), typeOf("blk.0.ffn_down.weight")]).toEqual([Q8_0, Q6_K]);
  expect([typeOf("blk.0.ffn_up.weight"), typeOf("blk.1.ffn_up.weight")]).toEqual([Q6_K, IQ2_XXS]);
  const asked = ["run", "-m", join(cwd, "typed.gguf"), "--seed", "1", "-i", "Hello", "--no-thinking"];
  expect((await runBinary(asked, { cwd })).exit).toBe(0);
  const none = await runBinary([...words.slice(0, 3), "--calibrate", "text.txt", "--type", "xyz=Q8_0"], {
    cwd,
  });
  expect([none.exit, none.err]).toEqual([
    1,
    expect.stringContaining("no tensor that can be quantized matches xyz"),
  ]);
}, 60_000);

test("the model inside the executable can be quantized too, and what cannot be done is said", async () => {
  const full = await runBinary([
    "quantize",
    "svc-tiny",
    "Q4_0",
    "-o",
    join(process.platform === "linux" ? "/proc" : "/dev/null", "tiny.gguf"),
  ]);
  expect([full.exit, full.err]).toEqual([1, expect.stringContaining("cannot be written to (")]);
  const cwd = newFolder();
  const own = await runBinary(["quantize", "svc-tiny", "Q8_0", "-o", "own.gguf"], { cwd });
  expect([own.exit, existsSync(join(cwd, "own.gguf"))]).toEqual([0, true]);
  writeFileSync(join(cwd, "short.txt"), "too short");
  const cases: readonly [string[], number, string][] = [
    [["quantize", TINY_FILE, "Q9"], 2, "is not a type"],
    [["quantize", TINY_FILE, "IQ2_XXS"], 2, "--imatrix"],
    [["quantize", TINY_FILE, "Q4_0", "--imatrix", TINY_FILE], 1, "importance matrix"],
    [["quantize", TINY_FILE, "Q4_0", "--calibrate", "nothing.txt"], 2, "there is no text file nothing.txt"],
    [["quantize", TINY_FILE, "Q4_0", "--calibrate", "short.txt"], 1, "give one of 32 or more"],
    [
      ["quantize", TINY_FILE, "Q4_0", "--calibrate", "short.txt", "--imatrix", "short.txt"],
      2,
      "exclude each other",
    ],
    [["quantize", TINY_FILE, "Q4_0", "--type", "ffn"], 2, "is not pattern=TYPE"],
    [["quantize", TINY_FILE, "Q4_0", "--type", "(=Q8_0"], 2, "is not a regular expression"],
    [["quantize", "svc-tiny", "Q4_0", "--type", "ffn=Q8_0"], 1, "--type needs a model file"],
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
