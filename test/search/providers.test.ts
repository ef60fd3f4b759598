import { describe, expect, test } from "bun:test";
import { SEARCH_ANSWER_BYTES_MAX, SEARCH_HITS_MAX, SEARCH_LABEL_CHARS_MAX } from "../../src/search/limits.ts";
import { brave } from "../../src/search/brave.ts";
import { duckduckgo } from "../../src/search/duckduckgo.ts";
import { SearchFailure } from "../../src/search/failure.ts";
import { type SearchProvider, tidyHits } from "../../src/search/provider.ts";
import { createReader } from "../../src/search/reader.ts";
import { searxng } from "../../src/search/searxng.ts";
import { atEnd } from "../helpers/at-end.ts";

/** What the provider's server says next, and what it was asked. */
let say: (request: Request) => Response | Promise<Response> = () => new Response();
const asked: { readonly url: URL; readonly headers: Headers }[] = [];
const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: (request) => {
    asked.push({ url: new URL(request.url), headers: request.headers });
    return say(request);
  },
});
atEnd(() => void server.stop(true));

const url = `http://127.0.0.1:${server.port}`;
const never = new AbortController().signal;
const PROVIDERS: readonly (readonly [string, SearchProvider])[] = [
  ["DuckDuckGo", duckduckgo(createReader(), { url })],
  ["SearXNG", searxng({ url })],
  ["Brave", brave("secret", { url })],
];
const [[, ddg] = [], [, searx] = [], [, braveSearch] = []] = PROVIDERS;

async function outcome(provider: SearchProvider | undefined, query = "otters & fish"): Promise<unknown> {
  return provider?.(query, never).catch((error: unknown) => {
    if (error instanceof SearchFailure) return error.message;
    throw error;
  });
}

describe("hits come from", () => {
  test("DuckDuckGo, as HTML", async () => {
    const result = `<div class="result"><h2 class="result__title"><a class="result__a" href="https://a.example/">A</a></h2>
      <a class="result__snippet">About A</a><a class="result__url">a.example</a></div>`;
    say = () =>
      new Response(`<html><body>${result}</body></html>`, { headers: { "content-type": "text/html" } });
    expect(await outcome(ddg)).toEqual([{ title: "A", description: "About A", url: "https://a.example/" }]);
    expect(asked.at(-1)?.url.searchParams.get("q")).toBe("otters & fish");
  });

  test("SearXNG, as JSON; invalid results are dropped", async () => {
    const results = [
      { title: "A", url: "https://a.example/", content: "About A", engine: "x" },
      { title: "B", url: "https://b.example/", content: null },
      { title: "C", url: "https://c.example/" },
      { url: 7 },
      "nonsense",
    ];
    say = () => Response.json({ results });
    expect(await outcome(searx)).toEqual([
      { title: "A", description: "About A", url: "https://a.example/" },
      { title: "B", description: "", url: "https://b.example/" },
      { title: "C", description: "", url: "https://c.example/" },
    ]);
    expect(asked.at(-1)?.url.pathname).toBe("/search");
    expect(asked.at(-1)?.url.searchParams.get("format")).toBe("json");
  });

  test("SearXNG below a path", async () => {
    say = () => Response.json({ results: [] });
    for (const address of [`${url}/searx`, `${url}/searx/`]) {
      expect(await outcome(searxng({ url: address }))).toEqual([]);
      expect(asked.at(-1)?.url.pathname).toBe("/searx/search");
    }
  });

  test("Brave, with the key in a header and a query within its limits", async () => {
    say = () =>
      Response.json({
        web: { results: [{ title: "A", url: "https://a.example/", description: "About A" }, {}] },
      });
    expect(await outcome(braveSearch, "word ".repeat(300))).toEqual([
      { title: "A", description: "About A", url: "https://a.example/" },
    ]);
    expect(asked.at(-1)?.headers.get("x-subscription-token")).toBe("secret");
    expect(asked.at(-1)?.url.searchParams.get("q")?.split(" ")).toHaveLength(50);
    say = () => Response.json({ type: "search" });
    expect(await outcome(braveSearch)).toEqual([]);
  });
});

describe.each(PROVIDERS)("%s fails with a reason that names no address", (_name, provider) => {
  test.each<[string, () => Response, string]>([
    ["a refusal", () => new Response("no", { status: 429 }), "HTTP status 429"],
    ["a redirect", () => Response.redirect("http://10.0.0.1/"), "HTTP status 302"],
    ["nonsense", () => new Response("Bad gateway"), "search provider"],
    ["JSON of another kind", () => Response.json([1, 2]), "search provider"],
    ["too much", () => new Response("x".repeat(SEARCH_ANSWER_BYTES_MAX + 1)), "larger than"],
    [
      "a gzip bomb",
      () =>
        new Response(Bun.gzipSync(new Uint8Array(50 * 1024 * 1024)), {
          headers: { "content-encoding": "gzip" },
        }),
      "larger than",
    ],
  ])("on %s", async (_what, answer, words) => {
    say = answer;
    const reason = await outcome(provider);
    expect(reason).toContain(words);
    expect(reason).not.toContain("127.0.0.1");
  });
});

test("a provider that does not respond times out", async () => {
  say = () => new Promise(() => undefined);
  const patience = { url, timeoutMs: 50 };
  for (const provider of [searxng(patience), brave("k", patience), duckduckgo(createReader(), patience)]) {
    expect(await outcome(provider)).toBe("the search provider did not answer within 0.05 seconds");
  }
});

test("an unreachable provider and an aborted search are reported", async () => {
  expect(await outcome(searxng({ url: "http://127.0.0.1:1" }))).toBe(
    "the search provider could not be reached",
  );
  say = () => new Promise(() => undefined);
  const abort = new AbortController();
  const searching = searx?.("q", abort.signal);
  abort.abort(new Error("gone"));
  expect(await searching?.catch(String)).toBe("Error: gone");
});

test("CAPTCHAs, unresponsive engines and unknown pages differ from empty results", async () => {
  const html = (body: string) => () => new Response(`<html><body>${body}</body></html>`);
  say = html('<form id="challenge-form"></form>');
  expect(await outcome(ddg)).toContain("CAPTCHA");
  say = html("Welcome");
  expect(await outcome(ddg)).toContain("not a result page");
  say = html('<div class="no-results">None</div>');
  expect(await outcome(ddg)).toEqual([]);
  say = () => Response.json({ results: [], unresponsive_engines: [["a", "timeout"]] });
  expect(await outcome(searx)).toContain("none of the search provider's engines");
});

test("hits are cleaned: unique web URLs, short labels, limited number", () => {
  const hit = (address: string, title = "T") => ({ title, description: "d\u202E\n d", url: address });
  const many = Array.from({ length: 30 }, (_, index) => hit(`https://a.example/${index}`));
  expect(tidyHits(many)).toHaveLength(SEARCH_HITS_MAX);
  expect(
    tidyHits([hit("ftp://a.example/"), hit("nonsense"), hit("https://A.example"), hit("https://a.example/")]),
  ).toEqual([{ title: "T", description: "d d", url: "https://a.example/" }]);
  expect(tidyHits([hit("https://a.example/", " ")])[0]?.title).toBe("https://a.example/");
  expect(tidyHits([hit("https://a.example/", "x".repeat(5000))])[0]?.title).toHaveLength(
    SEARCH_LABEL_CHARS_MAX + 1,
  );
});

test("SearXNG: answers and boxes with an address are found too", async () => {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () =>
      Response.json({
        results: [],
        answers: ["without an address", { answer: "42 km", url: "https://a.example/" }],
        infoboxes: [
          { infobox: "Ada", content: "a person", urls: [{ url: "https://b.example/" }] },
          { infobox: 1 },
        ],
      }),
  });
  const found = await searxng({ url: server.url.href })("q", new AbortController().signal);
  await server.stop(true);
  expect(found).toEqual([
    { title: "Answer", url: "https://a.example/", description: "42 km" },
    { title: "Ada", url: "https://b.example/", description: "a person" },
  ]);
});
