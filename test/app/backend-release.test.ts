// Parts of CUDA's library from signed releases: by card, over HTTP and from a folder, resumed, and refused with a reason.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { hash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fetchPart, type FetchedPart } from "../../src/app/backend-release.ts";
import { partialPath } from "../../src/hub/download.ts";
import { failure } from "../helpers/failure.ts";
import { releaseKeys, signSums } from "../helpers/fake-release.ts";
import { tempDir } from "../helpers/tmp.ts";

const KEYS = releaseKeys();
const folder = tempDir();
const PART = Buffer.alloc(300_000, "machine code ");
const requests: string[] = [];
let server: Bun.Server<undefined>;

beforeAll(() => {
  const names = ["libggml-cuda-sm90.so", "libggml-cuda-ptx.so"];
  for (const name of names) writeFileSync(join(folder, name), Buffer.concat([Buffer.from(name), PART]));
  const sums = names.map((name) => `${sumOf(readFileSync(join(folder, name)))}  ${name}\n`);
  signSums(folder, sums.join(""), KEYS.key);
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async ({ method, url, headers }) => {
      const { pathname } = new URL(url);
      requests.push(`${method} ${pathname} ${headers.get("range") ?? ""}`.trim());
      const file = Bun.file(join(folder, pathname));
      if (!(await file.exists())) return new Response("no", { status: 404 });
      const from = Number(/(\d+)-/.exec(headers.get("range") ?? "")?.[1] ?? 0);
      if (from === 0) return new Response(file);
      const range = `bytes ${from}-${file.size - 1}/${file.size}`;
      return new Response(file.slice(from), { status: 206, headers: { "content-range": range } });
    },
  });
});
afterAll(() => server.stop(true));

function sumOf(bytes: Uint8Array): string {
  return hash("sha256", bytes);
}

const cardsOf = (...capabilities: readonly number[]) => ({
  cudaVersion: 13_000,
  cards: capabilities.map((capability) => ({ name: `card ${capability}`, capability })),
});

async function fetched(
  address: string,
  cards: readonly number[],
  cacheDir = tempDir(),
): Promise<FetchedPart | undefined> {
  const place = { address, key: KEYS.pem };
  return fetchPart(place, cardsOf(...cards), { cacheDir, log: () => undefined });
}

const url = (): string => `http://127.0.0.1:${server.port}`;

test.each([
  [[90], "sm90"],
  [[90, 90], "sm90"],
  [[89], "ptx"], // the release has no code for it: the driver compiles
  [[90, 120], "ptx"],
])("cards of %j get the part %s, over HTTP and from a folder", async (cards, part) => {
  const name = `libggml-cuda-${part}.so`;
  const [loaded, found] = [await fetched(url(), cards), await fetched(folder, cards)];
  expect([loaded?.isDownloaded, found?.isDownloaded, found?.file]).toEqual([true, false, join(folder, name)]);
  expect(
    readFileSync(loaded?.file ?? "")
      .subarray(0, name.length)
      .toString(),
  ).toBe(name);
});

test("an interrupted download goes on where it was", async () => {
  const cacheDir = tempDir();
  const whole = readFileSync(join(folder, "libggml-cuda-sm90.so"));
  const file = join(cacheDir, "backends", "libggml-cuda-sm90.so");
  mkdirSync(join(cacheDir, "backends"));
  writeFileSync(partialPath(file), whole.subarray(0, 100_000));
  requests.length = 0;
  await fetched(url(), [90], cacheDir);
  expect(requests).toContain("GET /libggml-cuda-sm90.so bytes=100000-");
  expect(readFileSync(file)).toEqual(whole);
});

describe("refused", () => {
  test("a release without parts has none; another key, a changed part, an address that is none", async () => {
    const empty = tempDir();
    signSums(empty, `${sumOf(PART)}  svc-1.0.0-linux-x64.tar.gz\n`, KEYS.key);
    expect(await fetched(empty, [90])).toBeUndefined();
    const changed = tempDir();
    signSums(changed, `${sumOf(PART)}  libggml-cuda-sm90.so\n`, KEYS.key);
    writeFileSync(join(changed, "libggml-cuda-sm90.so"), "other");
    expect(await failure(fetched(changed, [90]))).toContain("does not have the SHA-256 sum");
    signSums(changed, `${sumOf(PART)}  libggml-cuda-sm90.so\n`, releaseKeys().key);
    expect(await failure(fetched(changed, [90]))).toContain("the signature of");
    expect(await failure(fetched(`${url()}/nowhere`, [90]))).toContain("answers with status 404");
    expect(await failure(fetched(tempDir(), [90]))).toContain("holds no SHA256SUMS");
  });

  test("a part whose bytes are not those of the signed list is not left behind", async () => {
    const cacheDir = tempDir();
    const list = readFileSync(join(folder, "SHA256SUMS"), "utf8");
    signSums(folder, list.replace(/^[0-9a-f]{64}(?=  libggml-cuda-sm90)/m, sumOf(PART)), KEYS.key);
    expect(await failure(fetched(url(), [90], cacheDir))).toContain("does not match its checksum");
    expect(existsSync(join(cacheDir, "backends", "libggml-cuda-sm90.so"))).toBe(false);
    signSums(folder, list, KEYS.key);
  });
});
