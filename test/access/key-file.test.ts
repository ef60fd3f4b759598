// The file of keys, and how a server follows its changes.

import { expect, test } from "bun:test";
import { readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KeyBook } from "../../src/access/key-book.ts";
import { changeKeyFile, type KeyRecord, newKey, newKeyId, readKeyFile } from "../../src/access/key-file.ts";
import { keyDigest } from "../../src/core/account.ts";
import { tempDir } from "../helpers/tmp.ts";

function record(name: string, key = newKey()): KeyRecord {
  return { id: newKeyId(), name, digest: keyDigest(key), created: "2026-01-01T00:00:00Z" };
}

test("many commands at once lose no key, and the file holds none in plain", async () => {
  const file = join(tempDir(), "deep", "keys.json");
  const keys = Array.from({ length: 12 }, (_, index) => ({ name: `n${index}`, key: newKey() }));
  await Promise.all(
    keys.map(({ name, key }) => changeKeyFile(file, (all) => [[...all, record(name, key)], undefined])),
  );
  expect(
    readKeyFile(file)
      ?.map(({ name }) => name)
      .sort(),
  ).toEqual(keys.map(({ name }) => name).sort());
  const text = readFileSync(file, "utf8");
  for (const { key } of keys) expect(text).not.toContain(key.slice(4));
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a server follows the file; one that is gone or broken opens nothing", async () => {
  const file = join(tempDir(), "keys.json");
  const lines: string[] = [];
  const book = new KeyBook(file, (line) => lines.push(line));
  let nowMs = 0;
  const names = () => book.keys((nowMs += 1000))?.map(({ account }) => account.name);
  expect(names()).toBeUndefined();
  await changeKeyFile(file, () => [[record("a"), record("b")], undefined]);
  expect(names()).toEqual(["a", "b"]);
  writeFileSync(file, "{");
  expect(names()).toEqual(["a", "b"]);
  rmSync(file);
  symlinkSync("keys.json", file); // cannot be read by anybody, root included
  expect(names()).toEqual(["a", "b"]);
  expect(() => new KeyBook(file, () => undefined)).toThrow("cannot be read (");
  rmSync(file);
  writeFileSync(file, "{");
  expect(names()).toEqual(["a", "b"]);
  expect(lines.at(-1)).toContain("the keys stay as they were");
  const refused = await changeKeyFile(file, () => [[], ""]).catch(String);
  expect(refused).toContain("mend or delete it");
  rmSync(file);
  expect(names()).toEqual([]);
});

test("a pipe or a device in its place is refused, not waited for", () => {
  const pipe = join(tempDir(), "keys.json");
  expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
  for (const file of [pipe, "/dev/zero"]) expect(() => readKeyFile(file), file).toThrow("it is no file");
});

test("a place that cannot be written is named with what to do", async () => {
  const file = join(tempDir(), "file");
  writeFileSync(file, "");
  const made = changeKeyFile(join(file, "keys.json"), (keys) => [keys, undefined]);
  expect(made).rejects.toThrow(/keys\.json cannot be written \(.*name another with keys_file/);
});

test("a file that is none of svc's stops the start", () => {
  const file = join(tempDir(), "keys.json");
  writeFileSync(file, JSON.stringify({ version: 1, keys: [{ name: "a", key: "plain" }] }));
  expect(() => new KeyBook(file, () => undefined)).toThrow("is not one that svc keys has written");
});
