// GGUF files that svc makes of a repository's safetensors: found, listed, limited and deleted like downloaded ones.

import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deleteCached, deleteFiles, listCache } from "../../src/hub/cache.ts";
import { checkConvertedRoom, convertedFile } from "../../src/hub/converted.ts";
import { cachedModel, fetchSafetensors } from "../../src/hub/fetch-model.ts";
import { hubPlace } from "../../src/hub/place.ts";
import { pruneRecords, recordedModels } from "../../src/hub/records.ts";
import { cacheBytes } from "../../src/hub/room.ts";
import { COMMIT, fakeHub } from "../helpers/fake-hub.ts";
import { tempDir } from "../helpers/tmp.ts";

const ID = { repo: "acme/weights" };
const SIZES = { source: 3000, converted: 2000 };

async function converted() {
  const hub = fakeHub({
    "acme/weights": {
      files: { "config.json": new Uint8Array(10), "model.safetensors": new Uint8Array(SIZES.source) },
    },
  });
  const cacheDir = tempDir();
  const place = hubPlace({ HF_ENDPOINT: hub.url, HF_HUB_CACHE: cacheDir });
  const onProgress = () => undefined;
  await fetchSafetensors(ID, { place, token: () => undefined, onProgress, log: () => undefined });
  let runs = 0;
  const convert = () =>
    convertedFile({
      cacheDir,
      id: ID,
      write: async (output) => {
        runs++;
        writeFileSync(output, new Uint8Array(SIZES.converted));
      },
      typeOf: () => "BF16",
      isServed: false,
      onWait: () => undefined,
      signal: new AbortController().signal,
    });
  return { cacheDir, convert, runs: () => runs };
}

test("a converted file is beside its sources, found by the repository's name, counted, and made once", async () => {
  const { cacheDir, convert, runs } = await converted();
  const file = await convert();
  expect(file).toBe(join(cacheDir, "models--acme--weights/snapshots", COMMIT, "weights-BF16.gguf"));
  expect([await convert(), runs()]).toEqual([file, 1]);
  for (const id of [ID, { ...ID, quant: "BF16" }]) expect(cachedModel(id, { cacheDir })).toBe(file);
  expect(listCache(cacheDir)).toMatchObject([{ path: "weights-BF16.gguf", bytes: SIZES.converted }]);
  expect(recordedModels(cacheDir)).toMatchObject([{ id: "acme/weights:BF16", isServed: false }]);
  expect(cacheBytes(cacheDir)).toBe(SIZES.converted + SIZES.source + 10);
});

test("with the repository all of it is deleted, with the model its sources", async () => {
  const whole = await converted();
  await whole.convert();
  const { files, freedBytes } = deleteCached(whole.cacheDir, ID);
  expect(files.map(({ path }) => path).sort()).toEqual(["model.safetensors", "weights-BF16.gguf"]);
  expect(freedBytes).toBe(SIZES.converted + SIZES.source);

  const { cacheDir, convert } = await converted();
  await convert();
  expect(deleteCached(cacheDir, { ...ID, quant: "BF16" }).freedBytes).toBe(SIZES.converted);
  const sources = new Set(pruneRecords(cacheDir, ID.repo));
  const freed = deleteFiles(
    cacheDir,
    listCache(cacheDir, true).filter(({ link }) => sources.has(link)),
  );
  expect(freed).toBe(SIZES.source + 10);
  expect(existsSync(join(cacheDir, "models--acme--weights"))).toBe(false);
});

test("models_max_bytes and the disk hold for it", async () => {
  const { cacheDir } = await converted();
  const limit = { cacheDir, maxBytes: SIZES.source + 10 + SIZES.converted };
  checkConvertedRoom(SIZES.converted, cacheDir, limit);
  expect(() => checkConvertedRoom(SIZES.converted + 1, cacheDir, limit)).toThrow("--models-max-bytes");
  expect(() => checkConvertedRoom(Number.MAX_SAFE_INTEGER, cacheDir)).toThrow("beside the reserve");
});
