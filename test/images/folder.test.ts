import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SERVER } from "../../src/core/caller.ts";
import { ImageFolder } from "../../src/images/folder.ts";
import { tempDir } from "../helpers/tmp.ts";

const PNG = new Uint8Array(100).fill(1);

describe("a temporary folder", () => {
  test("is private and removed at the end", async () => {
    const images = new ImageFolder();
    const { name, path } = await images.save(PNG, SERVER);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await images.find(name)?.bytes()).toEqual(PNG);
    images.close();
    expect(existsSync(dirname(path))).toBe(false);
    expect(images.find(name)).toBeUndefined();
  });
});

describe("bounds", () => {
  test("the oldest files are evicted; the newest stays at any size", async () => {
    const images = new ImageFolder({ folder: tempDir(), filesMax: 2, bytesMax: 250 });
    const names: string[] = [];
    for (let i = 0; i < 4; i++) names.push((await images.save(PNG, SERVER)).name);
    expect(names.map((name) => images.find(name) !== undefined)).toEqual([false, false, true, true]);
    const { name, path } = await images.save(new Uint8Array(1000), SERVER);
    expect(readdirSync(dirname(path))).toEqual([name]);
  });

  test("a file is served for its lifetime and removed after it", async () => {
    let now = 1_000_000;
    const images = new ImageFolder({ folder: tempDir(), lifeMs: 1000, now: () => now });
    const first = await images.save(PNG, SERVER);
    now += 1001;
    expect(images.find(first.name)).toBeUndefined();
    await images.save(PNG, SERVER);
    expect(existsSync(first.path)).toBe(false);
  });
});

test("files of an earlier process count; other files are neither served nor touched", async () => {
  const folder = tempDir();
  const earlier = await new ImageFolder({ folder }).save(PNG, SERVER);
  const old = join(folder, "image-00000000-0000-0000-0000-000000000000.png");
  writeFileSync(old, PNG);
  utimesSync(old, 1, 1);
  writeFileSync(join(folder, "mine.png"), "mine");
  const images = new ImageFolder({ folder });
  expect(images.find(earlier.name)).toBeDefined();
  expect(images.find("mine.png")).toBeUndefined();
  expect(images.find("../mine.png")).toBeUndefined();
  await images.save(PNG, SERVER);
  expect(existsSync(old)).toBe(false);
  expect(existsSync(join(folder, "mine.png"))).toBe(true);
});
