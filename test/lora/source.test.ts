import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { AdapterError } from "../../src/lora/adapter-error.ts";
import { convertAdapter } from "../../src/lora/convert.ts";
import { convertInProcess, convertMain } from "../../src/lora/convert-process.ts";
import { prepareAdapter, type SourceOptions } from "../../src/lora/source.ts";
import { TINY_PATH } from "../helpers/native.ts";
import { formula, safetensors, writeAdapter } from "../helpers/peft.ts";
import { tempDir } from "../helpers/tmp.ts";
import { refusalCode } from "../helpers/refusal.ts";

const RED = join(import.meta.dir, "../fixtures/lora/red");
const BLUE = join(import.meta.dir, "../fixtures/lora/blue");

function options(extra: Partial<SourceOptions> = {}): SourceOptions & { readonly conversions: string[] } {
  const conversions: string[] = [];
  return {
    conversions,
    bytesMax: 10_000_000,
    cacheDir: tempDir(),
    baseModel: () => Promise.resolve(TINY_PATH),
    convert: async ({ folders, baseModel, output, mayLink }) => {
      conversions.push(...folders);
      convertAdapter(folders, readGgufHeader(baseModel), output, mayLink);
    },
    ...extra,
  };
}

const refused = (path: string, extra: Partial<SourceOptions> = {}) =>
  refusalCode(() => prepareAdapter(path, options(extra)));

describe("preparing", () => {
  test("a generation identifies the content: equal files are converted once", async () => {
    const given = options();
    const first = await prepareAdapter(RED, given);
    expect(first).toMatchObject({ rank: 4, bytes: 159_744 });
    expect(first.generation).toMatch(/^lora_[0-9a-f]{24}$/);
    expect(await prepareAdapter(RED, given)).toEqual(first);
    expect(given.conversions).toHaveLength(1);
    expect((await prepareAdapter(BLUE, given)).generation).not.toBe(first.generation);
  });
});

describe("paths", () => {
  test("paths outside the root are rejected, including links", async () => {
    const root = mkdtempSync(join(tempDir(), "root-"));
    const outside = writeAdapter(join(tempDir(), "adapter"), safetensors({}));
    symlinkSync(outside, join(root, "link"));
    mkdirSync(join(root, "inside"));
    writeFileSync(join(root, "file"), "x");
    mkdirSync(join(root, "open"));
    chmodSync(join(root, "open"), 0o777);
    for (const path of [outside, join(root, "link"), join(root, "../.."), "../..", "/nowhere/at/all"]) {
      expect([path, await refused(path, { root })]).toEqual([path, "adapter_path_not_allowed"]);
    }
    expect(await refused(join(root, "file"), { root })).toBe("adapter_path_not_allowed");
    expect(await refused(join(root, "open"), { root })).toBe("adapter_path_not_allowed");
    expect(await refused(join(root, "missing"), { root })).toBe("adapter_not_found");
    expect(await refused("missing", { root })).toBe("adapter_not_found");
    expect(await refused("relative")).toBe("adapter_path_not_allowed");
    expect(prepareAdapter("inside", options({ root }))).rejects.toThrow(AdapterError); // it may be read; it is empty
  });

  test("files over the limit are not opened", async () => {
    expect(await refused(RED, { bytesMax: 80_000 })).toBe("adapter_too_large");
  });
});

describe("the converter process", () => {
  const output = join(tempDir(), "out.gguf");

  test("distinguishes invalid input from its own failure", () => {
    const bad = writeAdapter(join(tempDir(), "bad"), safetensors({ x: formula([2], 0) }));
    const convert = (folder: string, baseModel: string): number =>
      convertMain([JSON.stringify({ folders: [folder], baseModel, output, mayLink: false })]);
    expect(convert(RED, TINY_PATH)).toBe(0);
    expect(convert(bad, TINY_PATH)).toBe(3);
    expect(convert(RED, join(tempDir(), "no-model"))).toBe(1);
  });

  test("a crash is a failure with a code, not a hang", async () => {
    const baseModel = join(tempDir(), "no-model");
    const conversion = convertInProcess({ folders: [RED], baseModel, output, mayLink: false });
    expect(await conversion.catch(String)).toContain("could not be converted");
  });
});
