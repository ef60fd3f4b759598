// What a folder with a model may link to: itself, and the contents of its own repository in the hub's cache.

import { describe, expect, test } from "bun:test";
import { mkdirSync, realpathSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unknownArchitecture } from "../../src/convert/architectures.ts";
import { convertedBytes } from "../../src/convert/estimate.ts";
import { readableFiles } from "../../src/convert/folder.ts";
import { tempDir } from "../helpers/tmp.ts";

/** A folder with a configuration, within another one that holds a secret. */
function folder(): { readonly path: string; readonly outside: string } {
  const outside = realpathSync(tempDir());
  const path = join(outside, "model");
  mkdirSync(join(path, "1_Pooling"), { recursive: true });
  writeFileSync(join(path, "config.json"), "{}");
  writeFileSync(join(outside, "secret"), "TOPSECRET");
  return { path, outside };
}

describe("a link", () => {
  test("within the folder is followed, and opens nothing else", () => {
    const { path } = folder();
    symlinkSync("config.json", join(path, "again.json"));
    expect(readableFiles(path)).toEqual([path]);
  });

  test.each<[string, string, string]>([
    ["to a file outside", "tokenizer.json", "../secret"],
    ["to a folder outside", "code", ".."],
    ["in a folder within", "1_Pooling/config.json", "../../secret"],
    ["to a key", "chat_template.jinja", "/etc/passwd"],
  ])("%s is refused by its name", (_, name, target) => {
    const { path } = folder();
    symlinkSync(target, join(path, name));
    expect(() => readableFiles(path)).toThrow(`${name} is a link that leads out of the folder`);
  });

  test("to a link that leads outside is refused, too, and one that leads nowhere", () => {
    const { path, outside } = folder();
    symlinkSync("second", join(path, "first"));
    symlinkSync(join(outside, "secret"), join(path, "second"));
    expect(() => readableFiles(path)).toThrow("is a link that leads out of the folder");
    const { path: other } = folder();
    symlinkSync("nothing", join(other, "vocab.json"));
    expect(() => readableFiles(other)).toThrow("vocab.json is a link to a file that does not exist");
  });
});

describe("a snapshot of the hub's cache", () => {
  const snapshot = (repo = "models--a--b"): { readonly path: string; readonly blobs: string } => {
    const cache = realpathSync(tempDir());
    const path = join(cache, repo, "snapshots", "0123456789abcdef0123456789abcdef01234567");
    const blobs = join(cache, repo, "blobs");
    for (const one of [path, blobs, join(cache, "models--other--c", "blobs")])
      mkdirSync(one, { recursive: true });
    writeFileSync(join(blobs, "aa"), "{}");
    writeFileSync(join(blobs, "bb"), "another revision's");
    writeFileSync(join(cache, "models--other--c", "blobs", "cc"), "another repository's");
    return { path, blobs };
  };

  test("opens the contents that it links to, not all of the repository", () => {
    const { path, blobs } = snapshot();
    symlinkSync("../../blobs/aa", join(path, "config.json"));
    expect(readableFiles(path)).toEqual([path, join(blobs, "aa")]);
  });

  test("does not open those of another repository", () => {
    const { path } = snapshot();
    symlinkSync("../../../models--other--c/blobs/cc", join(path, "config.json"));
    expect(() => readableFiles(path)).toThrow("config.json is a link that leads out of the folder");
  });
});

describe("what svc itself reads", () => {
  test("of headers is bounded, and the estimate is a number", () => {
    const { path } = folder();
    const header = (text: string, length = text.length): Buffer => {
      const prefix = Buffer.alloc(8);
      prefix.writeBigUInt64LE(BigInt(length));
      return Buffer.concat([prefix, Buffer.from(text)]);
    };
    const huge = '{"w":{"dtype":"F32","shape":[1e15,1e15],"data_offsets":[0,4]}}';
    writeFileSync(join(path, "a.safetensors"), header(huge));
    writeFileSync(join(path, "b.safetensors"), header("", 2 ** 40));
    truncateSync(join(path, "b.safetensors"), 1000);
    expect(convertedBytes(path, "f32")).toBe(Number.MAX_SAFE_INTEGER);
  });

  test("of a configuration is bounded", () => {
    const { path } = folder();
    truncateSync(join(path, "config.json"), 2 ** 30);
    expect(() => unknownArchitecture(path)).toThrow("is not valid JSON");
  });
});
