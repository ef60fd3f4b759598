// A hub that does not behave: endless lists and answers, impossible files, redirects out of the network, a trickle of bytes.

import { afterEach, describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getContent } from "../../src/hub/api.ts";
import { download, partialPath } from "../../src/hub/download.ts";
import { HubError } from "../../src/hub/error.ts";
import { fetchModel } from "../../src/hub/fetch-model.ts";
import { listRepository } from "../../src/hub/repository.ts";
import { COMMIT } from "../helpers/fake-hub.ts";
import { failure } from "../helpers/failure.ts";
import { tempDir } from "../helpers/tmp.ts";

const ID = { repo: "evil/model" };
const HASH = "a".repeat(64);
const REVISION = { id: ID.repo, sha: COMMIT, tags: [] };

/** A hub with this listing, or page of it, and these contents; its requests. */
function hostileHub(
  tree: (url: URL) => Response,
  content: (request: Request) => Response = () => new Response("x"),
) {
  const seen: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const url = new URL(request.url);
      seen.push(url.pathname);
      if (url.pathname.includes("/revision/")) return Response.json(REVISION);
      return url.pathname.includes("/tree/") ? tree(url) : content(request);
    },
  });
  onTestFinished(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, seen };
}

const entry = (path: string, size = 4) => ({
  type: "file",
  path,
  size,
  oid: "b".repeat(40),
  lfs: { oid: HASH, size },
});
const page = (link: string) =>
  Response.json([entry("a.gguf")], { headers: { link: `<${link}>; rel="next"` } });
const list = (endpoint: string) => listRepository(ID, { endpoint, token: undefined });

/** An answer that goes on as long as it is read. */
function endless(start: string): Response {
  const rest = new TextEncoder().encode(`{"type":"file","path":"${"a".repeat(60_000)}"},`);
  let isFirst = true;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    controller.enqueue(isFirst ? new TextEncoder().encode(start) : rest);
    isFirst = false;
  };
  return new Response(new ReadableStream({ pull }), { headers: { "content-type": "application/json" } });
}

describe("a list of files", () => {
  test.each<[string, (url: URL) => Response, string]>([
    ["that leads to itself", (url) => page(url.href), "does not end"],
    ["with ever new pages", (url) => page(`${url.origin}${url.pathname}?p=${Math.random()}`), "does not end"],
    ["that goes on elsewhere", () => page("http://169.254.169.254/latest"), "goes on at another server"],
    ["of one endless page", () => endless("["), "too long"],
    ["with negative sizes", () => Response.json([entry("a.gguf", -5)]), "an impossible size for a.gguf"],
    ["with sizes beyond numbers", () => Response.json([entry("a.gguf", 1e300)]), "an impossible size"],
  ])("%s is refused", async (_, tree, words) => {
    const hub = hostileHub(tree);
    expect(await failure(list(hub.url))).toContain(words);
    expect(hub.seen.length).toBeLessThan(1010);
  });

  test("has no files with names that no folder or terminal takes", async () => {
    const names = [
      "a\0.gguf",
      "a\u001B]0;PWNED\u0007.gguf",
      "\u202Ea.gguf",
      "../a.gguf",
      "a".repeat(2000),
      7,
      null,
    ];
    const hub = hostileHub(() =>
      Response.json([...names.map((name) => entry(name as string)), entry("ok.gguf")]),
    );
    expect((await list(hub.url)).files.map(({ path }) => path)).toEqual(["ok.gguf"]);
  });

  test("is asked for within a limit, the description of the repository too", async () => {
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => endless('{"id":[') });
    onTestFinished(() => server.stop(true));
    expect(await failure(list(`http://127.0.0.1:${server.port}`))).toContain("too long");
  });
});

const SECRET = join(tempDir(), "secret");
writeFileSync(SECRET, "GGUF, and what only its owner reads", { mode: 0o600 });

test.each([`file://${SECRET}`, "data:text/plain,GGUFxxxx", "s3://bucket/key", "ftp://127.0.0.1/a"])(
  "a redirect to %s copies nothing",
  async (location) => {
    const hub = hostileHub(
      () => Response.json([entry("a.gguf", 35)]),
      () => new Response(null, { status: 302, headers: { location } }),
    );
    const cacheDir = tempDir();
    const place = { cacheDir, endpoint: hub.url, offline: false, tokenFile: join(cacheDir, "token") };
    const fetched = fetchModel(ID, {
      place,
      token: () => undefined,
      onProgress: () => {},
      log: () => {},
      retryMs: 1,
    });
    expect(await failure(fetched)).toContain("neither http nor https");
    const kept = readdirSync(cacheDir, { recursive: true, withFileTypes: true }).filter((one) =>
      one.isFile(),
    );
    for (const file of kept) expect(readFileSync(join(file.parentPath, file.name), "utf8")).toBe("");
  },
);

describe("a redirect from https to http", () => {
  afterEach(() => spied?.mockRestore());
  let spied: { mockRestore: () => void } | undefined;
  const get = (token: string | undefined, isVerified: boolean): Promise<Response> => {
    const answers = [
      new Response(null, { status: 302, headers: { location: "http://b.example/m" } }),
      new Response("m"),
    ];
    const fake = async (): Promise<Response> => answers.shift() ?? Response.error();
    spied = spyOn(globalThis, "fetch").mockImplementation(
      Object.assign(fake, { preconnect: fetch.preconnect }),
    );
    return getContent("https://a.example/m", { token, isVerified, signal: new AbortController().signal });
  };

  test("is refused with a token, and without a hash", async () => {
    expect(await failure(get("secret", true))).toContain("from https to http");
    expect(await failure(get(undefined, false))).toContain("from https to http");
  });

  test("is followed for a content whose hash is known", async () => {
    expect(await (await get(undefined, true)).text()).toBe("m");
  });
});

test("a trickle of bytes, connection after connection, is given up; what came is readable by its owner alone", async () => {
  let connections = 0;
  const hub = hostileHub(
    () => Response.json([]),
    (request) => {
      connections++;
      const from = Number(/^bytes=(\d+)-/.exec(request.headers.get("range") ?? "")?.[1] ?? 0);
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new Uint8Array(1000));
          controller.close();
        },
      });
      const headers = { "content-range": `bytes ${from}-999999/1000000` };
      return new Response(body, { status: from > 0 ? 206 : 200, headers });
    },
  );
  const file = join(tempDir(), "blob");
  const what = { url: `${hub.url}/x`, token: undefined, bytes: 1_000_000, hash: HASH, file };
  const refusal = (status: number): HubError => new HubError(String(status));
  const done = download(what, { onProgress: () => {}, refusal, retryMs: 1 });
  expect(await failure(done)).toContain("the download failed 5 times");
  expect(connections).toBeLessThan(10);
  expect(existsSync(file)).toBe(false);
  expect(statSync(partialPath(file)).mode & 0o777).toBe(0o600);
});
