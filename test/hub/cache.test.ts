// The cache folder of the hub's tools: listing and deleting.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { cacheTable, deletedText } from "../../src/cli/cache-table.ts";
import { type HubId, parseHubId } from "../../src/core/hub-id.ts";
import { defined } from "../../src/core/defined.ts";
import { deleteCached, listCache } from "../../src/hub/cache.ts";
import { hubRevisions, localRevisions } from "../../src/hub/revisions.ts";
import { tempDir } from "../helpers/tmp.ts";

const OLD = "a".repeat(40);
const NEW = "b".repeat(40);

function id(text: string): HubId {
  const parsed = parseHubId(text);
  if (parsed === undefined) throw new Error(`${text} is no name on the hub`);
  return parsed;
}

/** A file of a snapshot; its content is named `blob`. */
function put(folder: string, file: string, blob: string, bytes: number): void {
  const content = join(folder, "blobs", blob);
  const link = join(folder, "snapshots", file);
  mkdirSync(dirname(content), { recursive: true });
  mkdirSync(dirname(link), { recursive: true });
  writeFileSync(content, new Uint8Array(bytes));
  symlinkSync(relative(dirname(link), content), link);
}

/** Two repositories, one of them at two commits that share a file. */
function filled(): string {
  const cacheDir = tempDir();
  const tiny = join(cacheDir, "models--acme--tiny");
  put(tiny, `${OLD}/t-Q8_0.gguf`, "shared", 1000);
  put(tiny, `${OLD}/t-Q4_K_M.gguf`, "old", 200);
  put(tiny, `${NEW}/t-Q8_0.gguf`, "shared", 1000);
  put(tiny, `${NEW}/Q4_K_M/t-Q4_K_M-00001-of-00002.gguf`, "new1", 30);
  put(tiny, `${NEW}/Q4_K_M/t-Q4_K_M-00002-of-00002.gguf`, "new2", 30);
  put(tiny, `${NEW}/config.json`, "config", 7);
  mkdirSync(join(tiny, "refs"));
  writeFileSync(join(tiny, "refs/main"), NEW);
  put(join(cacheDir, "models--b--no--refs"), `${OLD}/x.gguf`, "x", 5);
  mkdirSync(join(cacheDir, "datasets--acme--words"));
  mkdirSync(join(cacheDir, ".locks"));
  return cacheDir;
}

test("lists GGUF files of all snapshots, folders and repositories without refs included", () => {
  const files = listCache(filled());
  expect(files.map(({ repo, commit, refs, path, bytes }) => [repo, commit, refs, path, bytes])).toEqual([
    ["acme/tiny", OLD, [], "t-Q4_K_M.gguf", 200],
    ["acme/tiny", OLD, [], "t-Q8_0.gguf", 1000],
    ["acme/tiny", NEW, ["main"], "Q4_K_M/t-Q4_K_M-00001-of-00002.gguf", 30],
    ["acme/tiny", NEW, ["main"], "Q4_K_M/t-Q4_K_M-00002-of-00002.gguf", 30],
    ["acme/tiny", NEW, ["main"], "t-Q8_0.gguf", 1000],
    ["b/no--refs", OLD, [], "x.gguf", 5],
  ]);
  expect(listCache(join(tempDir(), "absent"))).toEqual([]);
});

test("a table for the terminal", () => {
  const lines = cacheTable(listCache(filled()), "/cache").split("\n");
  expect(lines[0]).toBe("REPOSITORY  REVISION  FILE                                 SIZE    LAST USED");
  expect(lines[3]).toMatch(
    /^acme\/tiny {3}main {6}Q4_K_M\/t-Q4_K_M-00001-of-00002\.gguf {2}0\.0 MB {2}\d{4}-\d\d-\d\d$/,
  );
  expect(cacheTable([], "/cache")).toBe("No GGUF models in /cache. svc pull owner/name downloads one.\n");
});

test.each([
  ["acme/tiny", 5, 1260, []],
  ["acme/tiny:Q4_K_M", 3, 260, ["config", "shared"]],
  ["acme/tiny:8", 2, 1000, ["config", "new1", "new2", "old"]],
  [`acme/tiny@${OLD}`, 2, 200, ["config", "new1", "new2", "shared"]],
  ["acme/tiny@main:Q8_0", 1, 0, ["config", "new1", "new2", "old", "shared"]],
  ["acme/tiny:Q5_0", 0, 0, ["config", "new1", "new2", "old", "shared"]],
])("deleting %s: %d files, %d bytes freed", (name, count, freedBytes, kept) => {
  const cacheDir = filled();
  const deleted = deleteCached(cacheDir, id(name));
  expect(deleted.files).toHaveLength(count);
  expect(deleted.freedBytes).toBe(freedBytes);
  const blobs = join(cacheDir, "models--acme--tiny/blobs");
  expect(existsSync(blobs) ? readdirSync(blobs).sort() : []).toEqual(kept);
  expect(existsSync(join(cacheDir, "models--b--no--refs"))).toBe(true);
});

test("deleting says what is gone", () => {
  expect(deletedText(deleteCached(filled(), id("b/no--refs")))).toBe(
    "deleted b/no--refs x.gguf\n0.0 MB freed\n",
  );
});

test("what a name of the catalogue has meant is compared with what it means now; the hub is not asked", async () => {
  const cacheDir = filled();
  put(join(cacheDir, "models--acme--pinned"), `${OLD}/p.gguf`, "p", 5);
  const size = { size: "1b", billions: 1, quant: "Q8_0", license: "mit", kinds: [] };
  const entry = (name: string, repo: string, revision?: string) => ({
    ...size,
    ...defined({ revision }),
    name,
    family: name,
    repo,
  });
  const entries = [
    entry("p:1b", "acme/pinned", NEW),
    entry("same:1b", "b/no--refs", OLD),
    entry("open:1b", "acme/pinned"),
    entry("away:1b", "acme/away", NEW),
  ];
  const local = localRevisions(cacheDir, entries);
  expect(local).toEqual([
    { repo: "acme/pinned", ref: "p:1b", commit: OLD, named: NEW },
    { repo: "acme/tiny", ref: "main", commit: NEW },
    { repo: "b/no--refs", ref: "same:1b", commit: OLD, named: OLD },
  ]);
  const access = { endpoint: "http://127.0.0.1:1", token: undefined, retryMs: 1 };
  const named = local.filter((one) => one.named !== undefined);
  expect((await hubRevisions(named, access)).map(({ newest }) => newest)).toEqual([NEW, OLD]);
});
