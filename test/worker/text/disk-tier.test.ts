// The folder of blocks: what it gives back, what it refuses, and how it keeps its bound.

import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { blockPath, purgeBlocks } from "../../../src/core/block-folder.ts";
import { type BlockKey, blockKeys, BLOCK_TOKENS, rootKey } from "../../../src/worker/text/tiers/block.ts";
import { DiskTier } from "../../../src/worker/text/tiers/disk-tier.ts";
import { tempDir } from "../../helpers/tmp.ts";
import { until } from "../../helpers/until.ts";

const BLOCK_FOLDER = resolve(import.meta.dir, "../../../src/core/block-folder.ts");
const CELLS = Uint8Array.from({ length: 10_000 }, (_, i) => i % 251);
const KEYS = blockKeys(
  rootKey("a model"),
  Int32Array.from({ length: 20 * BLOCK_TOKENS }, (_, i) => i),
);

function keyAt(i: number): BlockKey {
  const key = KEYS[i];
  if (key === undefined) throw new Error("there are 20 keys");
  return key;
}

/** Writes blocks and waits for them. */
async function write(folder: string, count: number, bytesMax = 1 << 30): Promise<DiskTier> {
  const tier = new DiskTier(folder, bytesMax, () => undefined);
  for (let i = 0; i < count; i++) tier.write(keyAt(i), i, CELLS);
  await until("the blocks are written", () => tier.pending === 0);
  return tier;
}

describe("keys", () => {
  const tokens = Int32Array.from({ length: 200 }, (_, i) => i);
  test("are of whole blocks, up to the first image, and depend on all before", () => {
    expect(blockKeys(rootKey("a"), tokens)).toHaveLength(6);
    expect(blockKeys(rootKey("a"), tokens.with(130, -7))).toHaveLength(4);
    const other = blockKeys(rootKey("a"), tokens.with(0, 5));
    blockKeys(rootKey("a"), tokens).forEach((key, i) => expect(key).not.toBe(other[i] ?? key));
    expect(blockKeys(rootKey("b"), tokens)[0]).not.toBe(blockKeys(rootKey("a"), tokens)[0]);
    expect(blockKeys(rootKey("a"), tokens.subarray(0, 64))).toEqual(
      blockKeys(rootKey("a"), tokens).slice(0, 2),
    );
  });
});

describe("blocks", () => {
  test("come back as they were, for this user alone, also in another process", async () => {
    const folder = join(tempDir(), "cache");
    const tier = await write(folder, 3);
    expect(await tier.read(keyAt(1), 1)).toEqual(CELLS);
    expect(await tier.read(keyAt(4), 4)).toBeUndefined();
    expect(await new DiskTier(folder, 1 << 30, () => undefined).read(keyAt(2), 2)).toEqual(CELLS);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const path of [join(folder, "secret"), blockPath(folder, keyAt(0))])
      expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(tier.counted()).toMatchObject({ badBlocks: 0, failedWrites: 0 });
    expect(tier.counted().writtenBytes).toBe(3 * statSync(blockPath(folder, keyAt(0))).size);
  });

  test("can be written by two engines at once, which may have the same process number", async () => {
    const folder = join(tempDir(), "cache");
    const tiers = [1, 2].map(() => new DiskTier(folder, 1 << 30, () => undefined));
    for (const tier of tiers) tier.write(keyAt(0), 0, CELLS);
    await until("both have written", () => tiers.every(({ pending }) => pending === 0));
    for (const tier of tiers) {
      expect(tier.counted().failedWrites).toBe(0);
      expect(await tier.read(keyAt(0), 0)).toEqual(CELLS);
    }
  });

  test("are replaced if that is wanted, at once while they wait", async () => {
    const folder = join(tempDir(), "cache");
    const tier = await write(folder, 1);
    tier.write(keyAt(0), 0, CELLS.subarray(1));
    await until("the block is looked at", () => tier.pending === 0);
    expect(await tier.read(keyAt(0), 0)).toEqual(CELLS);
    for (const from of [1, 2, 3]) tier.write(keyAt(0), 0, CELLS.subarray(from), true);
    expect(tier.pending).toBe(2); // the first is being written, the second has given way
    await until("the block is replaced", () => tier.pending === 0);
    expect(await tier.read(keyAt(0), 0)).toEqual(CELLS.subarray(3));
  });

  const damages: readonly (readonly [string, (path: string, other: string) => void])[] = [
    ["is cut off", (path) => writeFileSync(path, readFileSync(path).subarray(0, 5000))],
    ["is empty", (path) => writeFileSync(path, "")],
    ["has a changed byte", (path) => writeFileSync(path, readFileSync(path).with(6000, 0))],
    ["is of another version", (path) => writeFileSync(path, readFileSync(path).with(7, 9))],
    ["is that of another key", (path, other) => writeFileSync(path, readFileSync(other))],
    [
      "is a link to a good one",
      (path, other) => {
        rmSync(path);
        symlinkSync(other, path);
      },
    ],
  ];
  test.each(damages)("a file that %s is not used and does not stay", async (what, damage) => {
    const folder = join(tempDir(), "cache");
    const tier = await write(folder, 2);
    const path = blockPath(folder, keyAt(0));
    damage(path, blockPath(folder, keyAt(1)));
    expect(await tier.read(keyAt(0), 0)).toBeUndefined();
    if (what.includes("link")) return; // it is absent, and never opened
    expect(tier.counted().badBlocks).toBe(1);
    expect(existsSync(path)).toBe(false);
  });

  test("of another installation are not used", async () => {
    const [folder, other] = [join(tempDir(), "cache"), join(tempDir(), "cache")];
    await write(folder, 1);
    const tier = await write(other, 1);
    writeFileSync(blockPath(other, keyAt(0)), readFileSync(blockPath(folder, keyAt(0))));
    expect(await tier.read(keyAt(0), 0)).toBeUndefined();
    expect(tier.counted().badBlocks).toBe(1);
  });

  test("keep the bound: the ends of prompts go first", async () => {
    const folder = join(tempDir(), "cache");
    const bytes = 10 * (CELLS.length + 68);
    const tier = await write(folder, 20, bytes);
    const held = KEYS.filter((key) => existsSync(blockPath(folder, key)));
    expect(held.length).toBeLessThanOrEqual(10);
    expect(held.length).toBeGreaterThanOrEqual(8);
    expect(held[0]).toBe(keyAt(0));
    expect(await tier.read(keyAt(0), 0)).toEqual(CELLS);
  });

  test("are deleted by a purge, unfinished ones too; the secret stays", async () => {
    const folder = join(tempDir(), "cache");
    await write(folder, 3);
    writeFileSync(`${blockPath(folder, keyAt(0))}.123-0`, "half");
    expect(await purgeBlocks(folder)).toEqual({ blocks: 3, bytes: 3 * (CELLS.length + 68) });
    expect([...new Bun.Glob("**/*").scanSync(folder)]).toEqual(["secret"]);
    expect(await purgeBlocks(join(folder, "nowhere"))).toEqual({ blocks: 0, bytes: 0 });
  });
});

describe("faults", () => {
  test("a write that fails is counted, and the next ones wait", async () => {
    const folder = join(tempDir(), "cache");
    const first = dirname(blockPath(folder, keyAt(0)));
    await mkdir(folder, { mode: 0o700 });
    writeFileSync(first, "a file where a folder belongs");
    const tier = new DiskTier(folder, 1 << 30, () => undefined);
    tier.write(keyAt(0), 0, CELLS);
    await until("the write fails", () => tier.counted().failedWrites === 1);
    tier.write(keyAt(1), 1, CELLS);
    expect(existsSync(blockPath(folder, keyAt(1)))).toBe(false);
    expect(tier.isBusy).toBe(false);
  });

  test("a folder or a secret that others can use is refused", async () => {
    const open = join(tempDir(), "cache");
    await mkdir(open);
    chmodSync(open, 0o777);
    expect(() => new DiskTier(open, 1, () => undefined)).toThrow("only its owner");
    const leaked = join(tempDir(), "cache");
    await write(leaked, 1);
    chmodSync(join(leaked, "secret"), 0o644);
    expect(() => new DiskTier(leaked, 1, () => undefined)).toThrow("only its owner");
    chmodSync(join(leaked, "secret"), 0o600);
    writeFileSync(join(leaked, "secret"), "short");
    expect(() => new DiskTier(leaked, 1, () => undefined)).toThrow("damaged");
  });

  test("engines that start at once share one secret, and nothing lies beside it", async () => {
    const folder = join(tempDir(), "cache");
    const script = `import { openBlockFolder } from ${JSON.stringify(BLOCK_FOLDER)};
      console.log(Buffer.from(openBlockFolder(${JSON.stringify(folder)})).toString("hex"));`;
    const engines = Array.from({ length: 8 }, () => Bun.spawn([process.execPath, "-e", script]));
    const secrets = await Promise.all(engines.map(({ stdout }) => new Response(stdout).text()));
    const [secret = ""] = secrets;
    expect(secret).toMatch(/^[0-9a-f]{64}\n$/);
    expect(secrets).toEqual(secrets.map(() => secret));
    expect(readdirSync(folder)).toEqual(["secret"]);
  });
});
