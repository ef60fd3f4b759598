// A model hub on this machine: repositories with files, and the ways in which a hub and its network go wrong.

import { onTestFinished } from "bun:test";
import { createHash, hash } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";

/** Commit that every repository is at. */
export const COMMIT = "0123456789abcdef0123456789abcdef01234567";

export interface FakeRepo {
  /** Content by path. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Only this token may read it. */
  readonly token?: string;
  /** The listing is public, the files are not. */
  readonly gated?: boolean;
  /** What the hub says of it besides: tags, downloads, what it read in GGUF files. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

export interface FakeHub {
  /** HF_ENDPOINT. */
  readonly url: string;
  /** Requests that arrived: method, path, Range. */
  readonly requests: string[];
  /** Authorization headers that arrived at the storage, which is another origin. */
  readonly storageAuthorization: (string | null)[];
  /** Cuts the connection of the next download after so many bytes, once `seen` resolves. */
  cutAfter(bytes: number, seen?: () => Promise<unknown>): void;
  /** Answers the next downloads with these statuses. */
  failWith(...statuses: readonly number[]): void;
  /** Answers the next requests to the API with 429, and names the delay, seconds. */
  limitRate(times: number, retryAfterSecs: number): void;
  /** Sends other bytes than promised, until told otherwise. */
  corrupt(on: boolean): void;
  /** Ignores Range, as a plain server does. */
  ignoreRanges(): void;
  /** Lets downloads hang after their first bytes until the returned function is called. */
  hold(): () => void;
}

/** Starts one for a test. */
export function fakeHub(repos: Readonly<Record<string, FakeRepo>>): FakeHub {
  const state = {
    cuts: [] as { bytes: number; seen: () => Promise<unknown> }[],
    statuses: [] as number[],
    limited: { times: 0, secs: 0 },
    isCorrupt: false,
    hasRanges: true,
    held: undefined as Promise<void> | undefined,
  };
  const requests: string[] = [];
  const storageAuthorization: (string | null)[] = [];
  const note = (method: string | undefined, address: string | undefined, range: string | null): URL => {
    const url = new URL(address ?? "", "http://hub");
    requests.push(`${method} ${url.pathname}${range === null ? "" : ` ${range}`}`);
    return url;
  };

  // Large files come from another origin, as with the real hub.
  const storage = createServer((request, response) => {
    const range = request.headers.range ?? null;
    const url = note(request.method, request.url, range);
    storageAuthorization.push(request.headers.authorization ?? null);
    const [, owner, name, ...path] = url.pathname.split("/");
    const content = repos[`${owner}/${name}`]?.files[path.join("/")];
    const isHeader = range?.startsWith("bytes=0-") ?? false; // a look at the metadata is no download
    const status = content === undefined ? 404 : isHeader ? undefined : state.statuses.shift();
    if (content === undefined || status !== undefined) return void response.writeHead(status ?? 404).end();
    void send(
      response,
      state.hasRanges ? range : null,
      state.isCorrupt ? content.map((byte) => byte ^ 1) : content,
    );
  });
  storage.listen(0, "127.0.0.1");

  async function send(response: ServerResponse, range: string | null, content: Uint8Array): Promise<void> {
    const [, first, last] = /^bytes=(\d+)-(\d*)/.exec(range ?? "") ?? [];
    const from = Number(first ?? 0);
    const end =
      last === undefined || last === "" ? content.byteLength : Math.min(content.byteLength, Number(last) + 1);
    const rest = content.subarray(from, end);
    response.setHeader("content-length", rest.byteLength);
    response.setHeader("accept-ranges", "bytes");
    response.setHeader("etag", `"${hashesOf(content).sha256}"`);
    const isPart = range !== null;
    if (isPart) response.setHeader("content-range", `bytes ${from}-${end - 1}/${content.byteLength}`);
    response.writeHead(isPart ? 206 : 200);
    if (range?.startsWith("bytes=0-") === true || end < content.byteLength) return void response.end(rest);
    const cut = state.cuts.shift();
    if (cut !== undefined) {
      response.write(rest.subarray(0, cut.bytes));
      await cut.seen();
      response.destroy();
      return;
    }
    if (state.held !== undefined) {
      response.write(rest.subarray(0, 10));
      await state.held;
      response.end(rest.subarray(10));
    } else {
      response.end(rest);
    }
  }

  const hub = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const url = note(request.method, request.url, null);
      if (url.pathname.startsWith("/api/") && state.limited.times > 0) {
        state.limited.times--;
        const headers = { "retry-after": String(state.limited.secs) };
        return Response.json({ error: "We had to rate limit your IP" }, { status: 429, headers });
      }
      if (url.pathname === "/api/models") return searched(repos, url, request.headers.get("authorization"));
      const api = /^\/api\/models\/([^/]+\/[^/]+)\/(revision|tree)\/([^/]+)/.exec(url.pathname);
      const resolve = /^\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(url.pathname);
      const name = api?.[1] ?? resolve?.[1] ?? "";
      const revision = api?.[3] ?? resolve?.[2] ?? "";
      const repo = repos[name];
      if (repo === undefined)
        return Response.json({ error: "Invalid username or password." }, { status: 401 });
      if (!["main", "v1", COMMIT].includes(revision))
        return Response.json({ error: "no rev" }, { status: 404 });
      const isOpen =
        repo.token === undefined || request.headers.get("authorization") === `Bearer ${repo.token}`;
      if (!isOpen && (resolve !== null || repo.gated !== true)) {
        return Response.json(
          { error: "restricted" },
          { status: request.headers.has("authorization") ? 403 : 401 },
        );
      }
      if (api?.[2] === "revision") return Response.json({ ...factsOf(name, repo), sha: COMMIT });
      if (api?.[2] === "tree") return tree(repo, url);
      return resolved(repo, resolve?.[3] ?? "", `http://127.0.0.1:${port()}/${name}/${resolve?.[3] ?? ""}`);
    },
  });
  const port = (): number => {
    const address = storage.address();
    if (address === null || typeof address === "string") throw new Error("the storage does not listen");
    return address.port;
  };
  onTestFinished(async () => {
    storage.closeAllConnections();
    storage.close();
    await hub.stop(true);
  });
  return {
    url: `http://127.0.0.1:${hub.port}`,
    requests,
    storageAuthorization,
    cutAfter: (bytes, seen = async () => {}) => void state.cuts.push({ bytes, seen }),
    limitRate: (times, secs) => void (state.limited = { times, secs }),
    failWith: (...statuses) => void state.statuses.push(...statuses),
    corrupt: (on) => void (state.isCorrupt = on),
    ignoreRanges: () => void (state.hasRanges = false),
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      state.held = promise;
      return () => {
        state.held = undefined;
        resolve();
      };
    },
  };
}

interface Hashes {
  /** Git's, of the file as an object. */
  readonly oid: string;
  readonly sha256: string;
}

const hashes = new WeakMap<Uint8Array, Hashes>();

/** Made once: a page that lists a repository asks for those of all its files. */
function hashesOf(content: Uint8Array): Hashes {
  const known = hashes.get(content);
  if (known !== undefined) return known;
  const oid = createHash("sha1").update(`blob ${content.byteLength}\0`).update(content).digest("hex");
  const fresh = { oid, sha256: hash("sha256", content) };
  hashes.set(content, fresh);
  return fresh;
}

/** A redirect to the storage, with what the hub says of the content, and where its own tools find it in pieces (Xet). */
function resolved(repo: FakeRepo, path: string, storage: string): Response {
  const content = repo.files[path];
  if (content === undefined) return Response.json({ error: "Entry not found" }, { status: 404 });
  const digest = hashesOf(content).sha256;
  return new Response(null, {
    status: 302,
    headers: {
      location: `${storage}?X-Amz-Expires=3600&X-Amz-Signature=${digest.slice(0, 16)}`,
      "x-repo-commit": COMMIT,
      "x-linked-size": String(content.byteLength),
      "x-linked-etag": `"${digest}"`,
      "x-xet-hash": digest,
      link: `<${storage}/xet-read-token>; rel="xet-auth", <${storage}/reconstruction>; rel="xet-reconstruction-info"`,
    },
  });
}

/** What a search or a revision says of a repository. */
function factsOf(id: string, { token, gated = false, facts = {} }: FakeRepo) {
  return {
    _id: hash("sha1", id).slice(0, 24),
    id,
    private: token !== undefined && !gated,
    gated: gated ? "manual" : false,
    downloads: 0,
    likes: 0,
    lastModified: "2026-01-02T03:04:05.000Z",
    tags: ["gguf"],
    ...facts,
  };
}

/** Repositories whose names hold the words; those that are private only with their token. */
function searched(
  repos: Readonly<Record<string, FakeRepo>>,
  url: URL,
  authorization: string | null,
): Response {
  const words = (url.searchParams.get("search") ?? "").toLowerCase();
  const limit = Number(url.searchParams.get("limit") ?? 1000);
  const hasGguf = ({ files }: FakeRepo): boolean => Object.keys(files).some((path) => path.endsWith(".gguf"));
  const isSeen = ({ token, gated = false }: FakeRepo): boolean =>
    token === undefined || gated || authorization === `Bearer ${token}`;
  const found = Object.entries(repos)
    .filter(([id, repo]) => id.toLowerCase().includes(words) && hasGguf(repo) && isSeen(repo))
    .map(([id, repo]) => factsOf(id, repo))
    .toSorted((a, b) => b.downloads - a.downloads);
  return Response.json(found.slice(0, limit));
}

/** One entry a page, so that paging is needed. GGUF files are large files, named by SHA-256; others by git's SHA-1. */
function tree(repo: FakeRepo, url: URL): Response {
  const paths = Object.keys(repo.files);
  const page = Number(url.searchParams.get("page") ?? 0);
  const path = paths[page] ?? "";
  const content = repo.files[path] ?? new Uint8Array();
  const size = content.byteLength;
  const { oid, sha256 } = hashesOf(content);
  const lfs = path.endsWith(".gguf") ? { lfs: { oid: sha256, size, pointerSize: 130 }, xetHash: sha256 } : {};
  const next = new URL(url);
  next.searchParams.set("page", String(page + 1));
  const headers: Record<string, string> =
    page + 1 < paths.length ? { link: `<${next.href}>; rel="next"` } : {};
  return Response.json(paths.length === 0 ? [] : [{ type: "file", path, size, oid, ...lfs }], { headers });
}
