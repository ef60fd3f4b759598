// From a name on the hub to a file, against a hub on this machine that misbehaves as real ones do.

import { describe, expect, onTestFinished, test } from "bun:test";
import { hash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { parseHubId } from "../../src/core/hub-id.ts";
import { rangeHeaders } from "../../src/hub/api.ts";
import { type OpenUrl, planSource } from "../../src/hub/url-plan.ts";
import { AUTO_COMPANIONS, NO_COMPANIONS } from "../../src/hub/plan.ts";
import { pruneRecords, recordedModels, recordOf } from "../../src/hub/records.ts";
import { cacheBytes } from "../../src/hub/room.ts";
import {
  fetchModel,
  type FetchOptions,
  fetchPlanned,
  fetchSafetensors,
  type Progress,
} from "../../src/hub/fetch-model.ts";
import { cachedGenerationConfig } from "../../src/hub/generation-config.ts";
import { hubPlace } from "../../src/hub/place.ts";
import { COMMIT, fakeHub, type FakeHub, type FakeRepo } from "../helpers/fake-hub.ts";
import { failure, rejection } from "../helpers/failure.ts";
import { tempDir } from "../helpers/tmp.ts";
import { until } from "../helpers/until.ts";

/** Bytes that differ from place to place. */
function content(size: number, seed: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8) * seed + seed) & 255);
}

const Q4 = content(300_000, 1);
const Q8 = content(1000, 2);
const PARTS = [content(5000, 3), content(4000, 4)] as const;
const REPOS: Readonly<Record<string, FakeRepo>> = {
  "acme/tiny": {
    files: {
      "README.md": content(50, 5),
      "tiny-Q4_K_M.gguf": Q4,
      "tiny-Q8_0.gguf": Q8,
      "Q6_K/tiny-Q6_K-00001-of-00002.gguf": PARTS[0],
      "Q6_K/tiny-Q6_K-00002-of-00002.gguf": PARTS[1],
    },
  },
  "acme/private": { files: { "a.gguf": Q8 }, token: "sesame" },
  "acme/gated": { files: { "a.gguf": Q8 }, token: "sesame", gated: true },
  "acme/vision": {
    files: {
      "v-Q8_0.gguf": Q4,
      "mmproj-F16.gguf": PARTS[0],
      "mmproj-BF16.gguf": PARTS[1],
      "v-draft-Q8_0.gguf": Q8,
    },
  },
  "acme/plain": { files: { "model.safetensors": Q8 } },
  "acme/weights": {
    files: {
      "config.json": content(60, 6),
      "model-00001-of-00001.safetensors": Q8,
      "tokenizer.json": content(70, 7),
      "modeling_weights.py": content(80, 8),
      "onnx/model.safetensors": PARTS[0],
      "pytorch_model.bin": PARTS[1],
    },
  },
};

function sha256(bytes: Uint8Array): string {
  return hash("sha256", bytes);
}

interface Setup {
  readonly hub: FakeHub;
  readonly cacheDir: string;
  readonly progress: Progress[];
  readonly log: string[];
  get(name: string, options?: Partial<FetchOptions>): Promise<string>;
}

function setup(cacheDir = tempDir()): Setup {
  const hub = fakeHub(REPOS);
  const progress: Progress[] = [];
  const log: string[] = [];
  const place = hubPlace({ HF_ENDPOINT: `${hub.url}/`, HF_HUB_CACHE: cacheDir });
  const get = (name: string, options: Partial<FetchOptions> = {}): Promise<string> => {
    const id = parseHubId(name);
    if (id === undefined) throw new Error(`${name} is no name on the hub`);
    const onProgress = (step: Progress): void => void progress.push(step);
    const onLine = (line: string): void => void log.push(line);
    return fetchModel(id, { place, token: () => undefined, onProgress, log: onLine, retryMs: 1, ...options });
  };
  return { hub, cacheDir, progress, log, get };
}

test("the sampling that a repository recommends comes with its model, and what is unusable in it is ignored", async () => {
  const recommended = {
    temperature: 0.6,
    top_k: 20,
    top_p: 7,
    min_p: "0",
    do_sample: true,
    repetition_penalty: 1.05,
  };
  const config = new TextEncoder().encode(JSON.stringify(recommended));
  const hub = fakeHub({
    "acme/keen": { files: { "a/keen-Q4_K_M.gguf": Q8, "generation_config.json": config } },
    "acme/odd": {
      files: { "odd.gguf": Q8, "generation_config.json": new TextEncoder().encode("[not json") },
    },
    "acme/tiny": { files: { "tiny.gguf": Q8 } },
  });
  const cacheDir = tempDir();
  const place = hubPlace({ HF_ENDPOINT: hub.url, HF_HUB_CACHE: cacheDir }, undefined);
  const options = { place, token: () => undefined, onProgress: () => {}, log: () => {} };
  const read: unknown[] = [];
  for (const name of ["keen", "odd", "tiny"]) {
    const id = { repo: `acme/${name}` };
    read.push(cachedGenerationConfig(id, place));
    expect(await fetchModel(id, options)).toEndWith(".gguf");
    read.push(cachedGenerationConfig(id, place));
  }
  const taken = { temperature: 0.6, top_k: 20, repetition_penalty: 1.05 };
  expect(read).toEqual([undefined, taken, undefined, {}, undefined, {}]);
});

describe("a download", () => {
  test("lies in the cache as the hub's own tools would have put it", async () => {
    const { cacheDir, get, progress } = setup();
    const file = await get("acme/tiny");
    const folder = join(cacheDir, "models--acme--tiny");
    expect(file).toBe(join(folder, "snapshots", COMMIT, "tiny-Q4_K_M.gguf"));
    expect(readlinkSync(file)).toBe(join("../../blobs", sha256(Q4)));
    expect(readFileSync(file).equals(Q4)).toBe(true);
    expect(readFileSync(join(folder, "refs/main"), "utf8")).toBe(COMMIT);
    expect(readdirSync(join(folder, "blobs"))).toEqual([sha256(Q4)]);
    expect(progress.at(-1)).toEqual({ doneBytes: Q4.byteLength, totalBytes: Q4.byteLength });
  });

  test("of a name serves what an earlier release meant, and says so, until it is pulled", async () => {
    const { hub, get, log, cacheDir } = setup();
    const file = await get(`acme/tiny@${COMMIT}`);
    const asked = hub.requests.length;
    const place = hubPlace({ HF_ENDPOINT: hub.url, HF_HUB_CACHE: cacheDir }, undefined);
    const options = {
      place,
      token: () => undefined,
      onProgress: () => {},
      log: (line: string) => void log.push(line),
    };
    const id = { repo: "acme/tiny", revision: "f".repeat(40), named: "tiny:1b" };
    expect(await fetchModel(id, options)).toBe(file);
    expect(hub.requests.length).toBe(asked);
    expect(log.at(-1)).toContain('until "svc pull tiny:1b" fetches it');
    expect(await fetchModel({ ...id, revision: COMMIT }, options)).toBe(file);
    expect(log).toHaveLength(1);
    const refused = await rejection(fetchModel(id, { ...options, refresh: true }));
    expect(String(refused)).toContain("no such repository or revision");
  });

  test("of a split model brings all parts and returns the first", async () => {
    const { get, progress } = setup();
    const file = await get("acme/tiny:6");
    expect(file).toEndWith("Q6_K/tiny-Q6_K-00001-of-00002.gguf");
    expect(readlinkSync(file)).toBe(join("../../../blobs", sha256(PARTS[0])));
    expect(readFileSync(file.replace("00001-of", "00002-of")).equals(PARTS[1])).toBe(true);
    expect(progress.at(-1)).toEqual({ doneBytes: 9000, totalBytes: 9000 });
  });

  test.each(["acme/tiny:q8_0", "acme/tiny:tiny-Q8_0.gguf", "acme/tiny@v1:8", `acme/tiny@${COMMIT}:8`])(
    "%s is the file that was named",
    async (name) => {
      const { cacheDir, get } = setup();
      expect(readFileSync(await get(name)).equals(Q8)).toBe(true);
      const refs = join(cacheDir, "models--acme--tiny/refs");
      expect(existsSync(refs) ? readdirSync(refs) : []).toEqual(
        name.includes("v1") ? ["v1"] : name.includes("@") ? [] : ["main"],
      );
    },
  );

  test("goes on where the connection broke, and nothing is sent twice", async () => {
    const { hub, get, progress } = setup();
    const seen = (bytes: number) => () => until("it is there", () => progress.at(-1)?.doneBytes === bytes);
    hub.cutAfter(100_000, seen(100_000));
    hub.cutAfter(50_000, seen(150_000));
    expect(readFileSync(await get("acme/tiny")).equals(Q4)).toBe(true);
    const ranges = hub.requests.flatMap((line) => /bytes=.*/.exec(line)?.[0] ?? []);
    expect(ranges).toEqual(["bytes=100000-", "bytes=150000-"]);
  });

  test("goes on in a later process", async () => {
    const cacheDir = tempDir();
    const blobs = join(cacheDir, "models--acme--tiny/blobs");
    mkdirSync(blobs, { recursive: true });
    writeFileSync(join(blobs, `${sha256(Q4)}.svc-partial`), Q4.subarray(0, 123_456));
    const { hub, get, progress } = setup(cacheDir);
    expect(readFileSync(await get("acme/tiny")).equals(Q4)).toBe(true);
    expect(hub.requests.join()).toContain("bytes=123456-");
    expect(progress[0]).toEqual({ doneBytes: 123_456, totalBytes: Q4.byteLength });
    expect(readdirSync(blobs)).toEqual([sha256(Q4)]);
  });

  test("starts over where the server ignores ranges, or what was there is wrong", async () => {
    const plain = setup();
    plain.hub.ignoreRanges();
    plain.hub.cutAfter(1000);
    expect(readFileSync(await plain.get("acme/tiny")).equals(Q4)).toBe(true);
    const other = setup();
    const blobs = join(other.cacheDir, "models--acme--tiny/blobs");
    mkdirSync(blobs, { recursive: true });
    writeFileSync(join(blobs, `${sha256(Q4)}.svc-partial`), content(1000, 99));
    expect(readFileSync(await other.get("acme/tiny")).equals(Q4)).toBe(true);
  });

  test("is tried again after passing failures, and given up after several in a row", async () => {
    const { hub, get } = setup();
    hub.failWith(500, 503, 429);
    expect(readFileSync(await get("acme/tiny")).equals(Q4)).toBe(true);
    hub.failWith(500, 500, 500, 500, 500);
    expect(get("acme/tiny:8")).rejects.toThrow(
      "the download failed 5 times: the hub answered with status 500",
    );
  });

  test("with another content than promised is refused, and nothing of it stays", async () => {
    const { hub, cacheDir, get } = setup();
    hub.corrupt(true);
    expect(await failure(get("acme/tiny"))).toContain("does not match its checksum");
    const folder = join(cacheDir, "models--acme--tiny");
    expect(existsSync(join(folder, "snapshots"))).toBe(false);
    expect(existsSync(join(folder, "blobs", sha256(Q4)))).toBe(false);
    hub.corrupt(false);
    expect(readFileSync(await get("acme/tiny")).equals(Q4)).toBe(true);
  });

  test("ends with the signal and keeps what has come", async () => {
    const { hub, cacheDir, get } = setup();
    const release = hub.hold();
    const abort = new AbortController();
    const fetching = get("acme/tiny", { signal: abort.signal });
    const partial = join(cacheDir, "models--acme--tiny/blobs", `${sha256(Q4)}.svc-partial`);
    await until(
      "the first bytes are there",
      () => existsSync(partial) && readFileSync(partial).byteLength > 0,
    );
    abort.abort(new Error("enough"));
    expect(await failure(fetching)).toContain("enough");
    expect(readFileSync(partial).byteLength).toBe(10);
    release();
  });
});

describe("with a model come", () => {
  const model = { id: "acme/vision:Q8_0", repo: "acme/vision", commit: COMMIT, files: ["v-Q8_0.gguf"] };

  test.each([
    [
      "its projector and draft model",
      AUTO_COMPANIONS,
      { projector: "mmproj-F16.gguf", draft: "v-draft-Q8_0.gguf" },
    ],
    ["none", { projector: "none", draft: "none" }, {}],
    [
      "those that are named",
      { projector: "mmproj-BF16.gguf", draft: "none" },
      { projector: "mmproj-BF16.gguf" },
    ],
  ])("%s", async (_, companions, found) => {
    const { cacheDir, get } = setup();
    const file = await get("acme/vision", { companions, isServed: true });
    expect(recordedModels(cacheDir)).toEqual([{ ...model, ...found, isServed: true }]);
    expect(readdirSync(join(file, "..")).sort()).toEqual([...Object.values(found), "v-Q8_0.gguf"].sort());
    await get("acme/vision", { companions, refresh: true }); // a server that has it in its configuration
    expect(recordOf(cacheDir, "acme/vision", file)?.isServed).toBe(true);
  });

  test("records go with their models, companions with the last model that needs them", async () => {
    const { cacheDir, get } = setup();
    const file = await get("acme/vision", { companions: AUTO_COMPANIONS });
    expect(pruneRecords(cacheDir, "acme/vision")).toEqual([]);
    rmSync(file);
    expect(pruneRecords(cacheDir, "acme/vision")).toEqual([
      join(file, "../mmproj-F16.gguf"),
      join(file, "../v-draft-Q8_0.gguf"),
    ]);
    expect(recordedModels(cacheDir)).toEqual([]);
  });
});

describe("room", () => {
  test("models_max_bytes counts what is there and what others are about to write", async () => {
    const { cacheDir, get } = setup();
    await get("acme/tiny:8");
    const needed = Q8.byteLength + Q4.byteLength;
    const why = await failure(get("acme/tiny:4", { maxBytes: needed - 1 }));
    expect(why).toBe(
      "acme/tiny needs 0.3 MB more, but of --models-max-bytes (0.3 MB) only 0.3 MB are left. Delete a model, or raise --models-max-bytes.",
    );
    expect(await failure(get("acme/tiny:4", { maxBytes: needed, reservedBytes: () => 1 }))).toContain(
      "--models-max-bytes",
    );
    expect(cacheBytes(cacheDir)).toBe(Q8.byteLength);
    await get("acme/tiny:4", { maxBytes: needed });
    expect(cacheBytes(cacheDir)).toBe(needed);
  });

  test("a full disk is refused before the download", async () => {
    const { hub, get } = setup();
    const why = await failure(get("acme/tiny", { reservedBytes: () => Number.MAX_SAFE_INTEGER / 2 }));
    expect(why).toContain("Free disk space");
    expect(hub.storageAuthorization).toEqual([]);
  });
});

const openPlainly: OpenUrl = (url) => (part, signal) =>
  fetch(url, { signal, headers: part === undefined ? {} : rangeHeaders(part) });

/** A server of one file that changes once its first download has broken off. */
function changingServer({ knowsIfRange, hasTag }: { knowsIfRange: boolean; hasTag: boolean }) {
  const versions = [5000, 6000].map((length, seed) =>
    Buffer.concat([Buffer.from("GGUF"), content(length, seed + 1)]),
  );
  const seen: string[] = [];
  let version = 0;
  const server = Bun.serve({
    port: 0,
    fetch: ({ headers }) => {
      const [range, ifRange] = [headers.get("range"), headers.get("if-range")];
      seen.push([range, ifRange].filter((value) => value !== null).join(" ") || "whole");
      const isFirst = range === null && version === 0;
      const body = versions[version] ?? Buffer.of();
      const tag = `"${version}"`;
      const isWhole = range === null || (knowsIfRange && ifRange !== null && ifRange !== tag);
      const from = isWhole ? 0 : Number(/bytes=(\d+)-/.exec(range)?.[1] ?? 0);
      if (isFirst) version = 1;
      const stated: Record<string, string> = hasTag ? { etag: tag } : {};
      if (!isWhole) stated["content-range"] = `bytes ${from}-${body.length - 1}/${body.length}`;
      const sent = new Uint8Array(body.subarray(from, isFirst ? 1000 : body.length));
      return new Response(sent, { status: isWhole ? 200 : 206, headers: stated });
    },
  });
  onTestFinished(() => server.stop(true));
  return { source: `${server.url}m.gguf`, seen, newest: versions[1] ?? Buffer.of() };
}

describe("a file at a plain URL that changes while it is downloaded starts again, never mixed", () => {
  test.each([
    ["by a server that knows If-Range", { knowsIfRange: true, hasTag: true }],
    ["by a server that ignores If-Range", { knowsIfRange: false, hasTag: true }],
  ])("%s", async (_, kind) => {
    const { source, seen, newest } = changingServer(kind);
    const place = hubPlace({ HF_HUB_CACHE: tempDir() });
    const lines: string[] = [];
    const onProgress = () => undefined;
    const log = (line: string) => void lines.push(line);
    const options = { place, token: () => undefined, onProgress, log, retryMs: 1 };
    const plan = await planSource({ source, companions: NO_COMPANIONS }, options, openPlainly);
    expect(readFileSync(await fetchPlanned(plan, options)).equals(newest)).toBe(true);
    expect(seen).toEqual(["bytes=0-3", "whole", 'bytes=1000- "0"', "bytes=0-3", "whole"]);
    expect(lines.at(-1)).toContain("the file has changed; starting again");
  });

  test("by a server that names no version", async () => {
    const { source, seen } = changingServer({ knowsIfRange: false, hasTag: false });
    const place = hubPlace({ HF_HUB_CACHE: tempDir() });
    const options = { place, token: () => undefined, onProgress: () => {}, log: () => {}, retryMs: 1 };
    const plan = await planSource({ source, companions: NO_COMPANIONS }, options, openPlainly);
    // It is longer now; without a version only the next pull can know that.
    expect(await failure(fetchPlanned(plan, options))).toContain("more bytes than it announced");
    expect(seen).toEqual(["bytes=0-3", "whole", "whole"]);
  });
});

test("a plain URL is resumed, and held to the hash that was named", async () => {
  const place = hubPlace({ HF_HUB_CACHE: tempDir() });
  const gguf = new Uint8Array([...Buffer.from("GGUF"), ...content(5000, 7)]);
  const ranges: (string | null)[] = [];
  let isCut = true;
  const server = Bun.serve({
    port: 0,
    fetch: ({ headers }) => {
      const range = headers.get("range");
      ranges.push(range);
      const from = Number(/bytes=(\d+)-/.exec(range ?? "")?.[1] ?? 0);
      const isWhole = range === null;
      const to = isWhole && isCut ? 1000 : gguf.length;
      if (isWhole) isCut = false;
      const stated = { "content-range": `bytes ${from}-${gguf.length - 1}/${gguf.length}`, etag: '"1"' };
      // A connection that ends early, as far as a client can tell.
      return new Response(gguf.subarray(from, to), { status: isWhole ? 200 : 206, headers: stated });
    },
  });
  onTestFinished(() => server.stop(true));
  const options = {
    place,
    token: () => undefined,
    onProgress: () => undefined,
    log: () => undefined,
    retryMs: 1,
  };
  const plan = (sha?: string) =>
    planSource(
      {
        source: `${server.url}dir/m-Q8_0.gguf`,
        companions: NO_COMPANIONS,
        ...(sha === undefined ? {} : { sha256: sha }),
      },
      options,
      openPlainly,
    );
  const file = await fetchPlanned(await plan(), options);
  expect(readFileSync(file).equals(gguf)).toBe(true);
  expect(ranges).toEqual(["bytes=0-3", null, "bytes=1000-"]);
  expect(await failure(plan("0".repeat(64)).then((wrong) => fetchPlanned(wrong, options)))).toContain(
    "checksum",
  );
  expect(readFileSync(await fetchPlanned(await plan(sha256(gguf)), options)).equals(gguf)).toBe(true);
});

test("a rate limit of the hub is waited for, if it is short", async () => {
  const { hub, get } = setup();
  hub.limitRate(2, 0);
  expect(readFileSync(await get("acme/tiny")).equals(Q4)).toBe(true);
  hub.limitRate(1, 3600);
  expect(await failure(get("acme/tiny:6"))).toContain("answered with status 429");
});

describe("two at once", () => {
  test("share one download", async () => {
    const { hub, cacheDir, get } = setup();
    const other = hubPlace({ HF_ENDPOINT: hub.url, HF_HUB_CACHE: cacheDir });
    const release = hub.hold();
    const log: string[] = [];
    const first = get("acme/tiny");
    await until("the first one downloads", () => hub.storageAuthorization.length === 1);
    const second = get("acme/tiny", { place: other, log: (line) => void log.push(line) });
    await until("the second one waits", () => log.length === 1);
    release();
    const [one, two] = await Promise.all([first, second]);
    expect(one).toBe(two);
    expect(readFileSync(one).equals(Q4)).toBe(true);
    expect(hub.storageAuthorization).toHaveLength(1);
    expect(log).toEqual(["acme/tiny: another process is downloading it; waiting"]);
  });

  test("a lock that its process has left behind is taken over", async () => {
    const { cacheDir, get } = setup();
    const locks = join(cacheDir, ".locks/models--acme--tiny");
    mkdirSync(locks, { recursive: true });
    const lock = join(locks, `${sha256(Q4)}.svc-lock`);
    writeFileSync(lock, "");
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(lock, longAgo, longAgo);
    expect(readFileSync(await get("acme/tiny")).equals(Q4)).toBe(true);
    expect(readdirSync(locks)).toEqual([]);
  });
});

describe("the cache", () => {
  test("answers without any request", async () => {
    const { hub, get } = setup();
    const file = await get("acme/tiny");
    const count = hub.requests.length;
    expect(await get("acme/tiny")).toBe(file);
    expect(await get("acme/tiny:Q4_K_M")).toBe(file);
    expect(hub.requests).toHaveLength(count);
    expect(await get("acme/tiny", { refresh: true })).toBe(file); // asks for the newest, has its content already
    expect(hub.requests.slice(count).some((line) => line.includes("resolve"))).toBe(false);
    expect(hub.requests.length).toBeGreaterThan(count);
  });

  test("of another tool is used: relative links, a ref, blobs by hash", async () => {
    const { hub, cacheDir, get } = setup();
    const folder = join(cacheDir, "models--other--tool");
    const snapshot = join(folder, "snapshots", COMMIT);
    for (const path of ["blobs", "refs", `snapshots/${COMMIT}`])
      mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, "blobs/abc"), Q8);
    symlinkSync("../../blobs/abc", join(snapshot, "m-Q8_0.gguf"));
    symlinkSync("../../blobs/absent", join(snapshot, "m-Q4_K_M.gguf")); // a broken download
    writeFileSync(join(folder, "refs/main"), COMMIT);
    expect(await get("other/tool")).toBe(join(snapshot, "m-Q8_0.gguf"));
    expect(hub.requests).toEqual([]);
  });

  test("is all there is when HF_HUB_OFFLINE is set", async () => {
    const { hub, cacheDir, get } = setup();
    const file = await get("acme/tiny");
    const count = hub.requests.length;
    const place = hubPlace({ HF_ENDPOINT: hub.url, HF_HUB_CACHE: cacheDir, HF_HUB_OFFLINE: "1" });
    expect(await get("acme/tiny", { place, refresh: true })).toBe(file);
    expect(await failure(get("acme/tiny:8", { place }))).toContain("HF_HUB_OFFLINE forbids the download");
    expect(hub.requests).toHaveLength(count);
  });

  test("works without the hub", async () => {
    const { cacheDir, get } = setup();
    const file = await get("acme/tiny");
    const place = hubPlace({ HF_ENDPOINT: "http://127.0.0.1:1", HF_HUB_CACHE: cacheDir });
    expect(await get("acme/tiny", { place })).toBe(file);
    expect(await failure(get("acme/tiny:8", { place }))).toContain("http://127.0.0.1:1 could not be reached");
  });
});

describe("fetchSafetensors", () => {
  const signal = new AbortController().signal;
  const id = { repo: "acme/weights" };

  test("downloads what a conversion reads, no code; later without a network", async () => {
    const { hub, cacheDir } = setup();
    const place = hubPlace({ HF_ENDPOINT: hub.url, HF_HUB_CACHE: cacheDir });
    const options = { place, token: () => undefined, signal, onProgress: () => {}, log: () => {} };
    const folder = await fetchSafetensors(id, options);
    expect(readdirSync(folder).toSorted()).toEqual([
      "config.json",
      "model-00001-of-00001.safetensors",
      "tokenizer.json",
    ]);
    const offline = hubPlace({ HF_HUB_OFFLINE: "1", HF_HUB_CACHE: cacheDir });
    expect(await fetchSafetensors(id, { ...options, place: offline })).toBe(folder);
    expect(await failure(fetchSafetensors({ repo: "acme/tiny" }, options))).toContain("has no safetensors");
  });
});

describe("refusals say what to do", () => {
  test.each([
    [
      "acme/absent",
      "has no such public repository, or requires a token. No token is configured; store one with `svc login`",
    ],
    ["acme/private", "No token is configured"],
    ["acme/gated", "No token is configured"],
    ["acme/tiny@v9", "acme/tiny@v9: "],
    ["acme/tiny@v9", "has no such repository or revision"],
    ["acme/plain", "acme/plain: there is no GGUF file in it. Only GGUF models can be served."],
    ["acme/weights", "acme/weights has no GGUF file, but safetensors. `svc convert acme/weights` makes"],
    [
      "acme/weights:Q4_K_M",
      "`svc convert acme/weights Q4_K_M` makes a GGUF file of them; with --auto-convert",
    ],
    ["acme/tiny:5", "no file in it has the quantization 5. There are: Q6_K, Q4_K_M, Q8_0."],
    ["acme/tiny:x.gguf", "there is no file x.gguf in it"],
  ])("%s: %s", async (name, words) => {
    const { get } = setup();
    expect(await failure(get(name))).toContain(words);
  });

  test.each(["acme/private", "acme/gated"])("%s with a wrong token", async (name) => {
    const { get } = setup();
    expect(await failure(get(name, { token: () => "guess" }))).toContain("The token in use has no access.");
  });
});

test.each(["acme/private", "acme/gated"])("the token opens %s and goes to the hub alone", async (name) => {
  const { hub, get } = setup();
  expect(readFileSync(await get(name, { token: () => "sesame" })).equals(Q8)).toBe(true);
  expect(hub.storageAuthorization).toEqual([null]);
});
