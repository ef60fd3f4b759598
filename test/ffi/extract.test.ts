import { describe, expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  NATIVE,
  unpackBuiltinModel,
  unpackGrammar,
  unpackImage,
  unpackLibraries,
  unpackSpeech,
} from "../../ffi/embedded.ts";
import { privateFolder } from "../../src/core/private-folder.ts";
import { tempDir } from "../helpers/tmp.ts";

describe("unpacked libraries", () => {
  const cache = tempDir();
  const namesIn = (archives: readonly string[]): string[] =>
    archives.flatMap((archive) => NATIVE.archives[archive]?.files.map(({ name }) => name) ?? []).sort();

  test("are complete in a private folder without other files", () => {
    const dir = unpackLibraries(cache);
    expect(readdirSync(dir)).not.toContain("libsvc_grammar.so"); // only for those who constrain answers
    expect(readdirSync(dir)).not.toContain("libsvc_speech.so");
    expect(unpackGrammar(cache)).toBe(dir);
    expect(unpackSpeech(cache)).toBe(dir);
    expect(readdirSync(dir).sort()).toEqual(namesIn(["llama.zst", "shim.zst", "grammar.zst", "speech.zst"]));
    expect(statSync(dir).mode & 0o777).toBe(0o700);
  });

  test("the image library comes to the others, whose ggml it computes with", () => {
    const dir = unpackImage(cache);
    expect(dir).toBe(unpackLibraries(cache));
    expect(readdirSync(dir)).toEqual(expect.arrayContaining([...namesIn(["image.zst"])]));
  });

  test("are restored if one was changed or is missing", () => {
    const dir = unpackLibraries(cache);
    const path = join(dir, "libsvc_llama.so");
    const good = readFileSync(path);
    const bad = Buffer.from(good);
    bad[100] = (bad[100] ?? 0) ^ 1;
    writeFileSync(path, bad);
    rmSync(join(dir, "libgomp.so.1"));
    unpackLibraries(cache);
    expect(readFileSync(path).equals(good)).toBe(true);
    expect(statSync(join(dir, "libgomp.so.1")).size).toBeGreaterThan(0);
  });

  test("a folder that other users can write to is rejected", () => {
    const open = tempDir();
    chmodSync(open, 0o777);
    expect(() => privateFolder(open)).toThrow("only its owner");
  });

  test("the built-in model is unpacked unchanged", () => {
    const path = unpackBuiltinModel(cache);
    const original = join(import.meta.dir, "../../demo-model/tiny.gguf");
    expect(readFileSync(path).equals(readFileSync(original))).toBe(true);
  });
});
