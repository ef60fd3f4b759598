// Valid and hostile pages through the fetcher and reader processes.

import { describe, expect, test } from "bun:test";
import { PAGE_BYTES_MAX, PAGE_CHARS_MAX } from "../../src/search/limits.ts";
import { publicFetch } from "../../src/net/public-fetch.ts";
import { READER_WORD } from "../../src/reader/protocol.ts";
import { SearchFailure } from "../../src/search/failure.ts";
import { pageGetter } from "../../src/search/page.ts";
import { createReader } from "../../src/search/reader.ts";
import { fetchHere, page, testWeb } from "../helpers/web.ts";
import { childrenOf, wordsOf } from "../helpers/processes.ts";
import { until } from "../helpers/until.ts";

const TEXT = "Otters live by rivers, eat fish, and float on their backs while they hold hands. "
  .repeat(5)
  .trim();
const typed = (type: string, body: Uint8Array | string) => () =>
  new Response(typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body), {
    headers: { "content-type": type },
  });

/** "Grüße, 10 €" as Windows-1252 has it, "日本語" as Shift JIS. */
const WINDOWS = Uint8Array.from([0x47, 0x72, 0xfc, 0xdf, 0x65, 0x2c, 0x20, 0x31, 0x30, 0x20, 0x80]);
const SHIFT_JIS = Uint8Array.from([0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea]);
const html = (bytes: Uint8Array, head = "") =>
  Uint8Array.from([
    ...new TextEncoder().encode(`<html><head>${head}</head><body><p>`),
    ...bytes,
    ...new TextEncoder().encode("</p></body></html>"),
  ]);

let isGone = false;

const web = testWeb({
  article: () => page("Otters", TEXT),
  moved: () => Response.redirect("/article", 301),
  inward: () => Response.redirect("http://intranet.example/secret"),
  loop: () => Response.redirect("/loop"),
  header: typed("text/html; charset=Shift_JIS", html(SHIFT_JIS)),
  meta: typed("text/html", html(SHIFT_JIS, '<meta charset="shift_jis">')),
  none: typed("text/html", html(WINDOWS)),
  utf8: typed("text/html", html(new TextEncoder().encode("Grüße, 10 €"))),
  wrong: typed("text/html; charset=utf-8", html(WINDOWS)),
  nonsense: typed("text/html; charset=x-no-such-thing", html(new TextEncoder().encode("Grüße"))),
  refused: typed("text/html; charset=hz-gb-2312", html(new TextEncoder().encode("abc"))),
  bom: typed("text/plain", Uint8Array.from([0xff, 0xfe, 0x41, 0x00, 0x42, 0x00])),
  plain: typed("text/plain; charset=utf-8", "one\n\n\n\ntwo <b>not markup</b>\n"),
  json: typed("application/json", '{"a": [1, 2]}'),
  feed: typed("application/rss+xml", "<rss><title>News</title></rss>"),
  pdf: typed("application/pdf", "%PDF-1.7"),
  image: typed("image/png", "PNG"),
  binary: typed("text/plain", Uint8Array.from([1, 0, 2, 0, 3])),
  empty: typed("text/html", "<html><body><script>x()</script></body></html>"),
  huge: typed("text/html", "x".repeat(10 * 1024 * 1024)),
  long: typed("text/plain", "word ".repeat(PAGE_BYTES_MAX / 5 - 1)),
  bomb: () =>
    new Response(Bun.gzipSync(new Uint8Array(20 * 1024 * 1024)), {
      headers: { "content-type": "text/html", "content-encoding": "gzip" },
    }),
  endless: () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          controller.enqueue(new TextEncoder().encode("<p>more</p>"));
          await Bun.sleep(1);
        },
        cancel: () => void (isGone = true),
      }),
      { headers: { "content-type": "text/html" } },
    ),
  nested: typed("text/html", `<html><body>${"<div>".repeat(50_000)}deep`),
  brackets: typed("text/html", "<".repeat(3_000_000)),
});

const get = pageGetter({ fetchPublic: fetchHere, read: createReader() });
const never = new AbortController().signal;
const textOf = async (path: string) => (await get(web.at("otters.example", path), never)).text;

async function reasonOf(getting: Promise<unknown>): Promise<string> {
  return getting.then(
    () => "read",
    (error: unknown) => {
      if (error instanceof SearchFailure) return error.message;
      throw error;
    },
  );
}

describe("a page is read", () => {
  test("as an article with its title and final URL", async () => {
    const got = await get(web.at("otters.example", "/moved"), never);
    expect(got).toMatchObject({ url: web.at("otters.example", "/article"), title: "Otters" });
    expect(got.text).toContain(TEXT);
    expect(got.text).not.toContain("Log in");
  });

  test.each([
    ["its header declares", "/header", "日本語"],
    ["it declares itself", "/meta", "日本語"],
    ["is the default", "/none", "Grüße, 10 €"],
    ["its bytes imply", "/utf8", "Grüße, 10 €"],
    ["its byte order mark declares", "/bom", "AB"],
    ["its bytes imply if its header is invalid", "/nonsense", "Grüße"],
  ])("in the encoding that %s", async (_what, path, text) => {
    expect(await textOf(path)).toBe(text);
  });

  test("with a wrong encoding, without an error", async () => {
    expect(await textOf("/wrong")).toStartWith("Gr\uFFFD");
    expect(typeof (await textOf("/refused").catch(String))).toBe("string");
  });

  test.each([
    ["plain text", "/plain", "one\n\ntwo <b>not markup</b>"],
    ["JSON", "/json", '{"a": [1, 2]}'],
    ["a feed", "/feed", "<rss><title>News</title></rss>"],
  ])("when it is %s", async (_what, path, text) => {
    expect(await textOf(path)).toBe(text);
  });

  test("without a content type", async () => {
    for (const [body, text] of [
      [`<p>${TEXT}</p>`, TEXT],
      ["a < b", "a < b"],
    ] as const) {
      const fetchPublic = async (url: string) => ({ url, pieces: [new TextEncoder().encode(body)] });
      const page = await pageGetter({ fetchPublic, read: createReader() })("http://a.example/", never);
      expect(page.text).toBe(text);
    }
  });

  test("up to a limit", async () => {
    expect((await textOf("/long")).length).toBe(PAGE_CHARS_MAX);
  });
});

describe("a page is not read", () => {
  test.each([
    ["a PDF", "/pdf", "of type application/pdf"],
    ["an image", "/image", "of type image/png"],
    ["binary", "/binary", "not text"],
    ["empty", "/empty", "no text"],
    ["missing", "/nowhere", "status 404"],
    ["too large", "/huge", "larger than"],
    ["compressed without being requested", "/bomb", "compressed"],
    ["a redirect to a private network", "/inward", "not on the public internet"],
    ["a redirect loop", "/loop", "redirects more than"],
  ])("when it is %s", async (_what, path, words) => {
    expect(await reasonOf(get(web.at("otters.example", path), never))).toContain(words);
  });

  test("when it is on this machine", async () => {
    const strict = pageGetter({ fetchPublic: publicFetch(), read: createReader() });
    const before = web.asked.length;
    for (const host of ["localhost", "127.0.0.1", "[::1]", "2130706433"]) {
      expect(await reasonOf(strict(web.at(host, "/article"), never))).toContain("not on the public internet");
    }
    expect(web.asked.length).toBe(before);
  });

  test("if its reader was killed", async () => {
    const abort = new AbortController();
    const getting = get(web.at("otters.example", "/endless"), abort.signal);
    await until("the page is asked for", () => web.asked.includes("otters.example/endless"));
    abort.abort(new Error("gone"));
    expect(await getting.catch(String)).toBe("Error: gone");
    await until("the server notices", () => isGone);
  });
});

describe("a page crafted to exhaust the reader", () => {
  test("is read in part or fails, and the next one is read", async () => {
    const quick = pageGetter({ fetchPublic: fetchHere, read: createReader(1500) });
    for (const path of ["/nested", "/brackets"]) {
      const outcome = await reasonOf(quick(web.at("otters.example", path), never));
      expect([
        "read",
        "the page is too complex to be read in time",
        "the page could not be parsed",
      ]).toContain(outcome);
    }
    expect((await quick(web.at("otters.example", "/article"), never)).title).toBe("Otters");
  });

  test("kills only its own reader process", async () => {
    const hurried = createReader(1);
    expect(await reasonOf(hurried("article", { html: "<p>x" }, never))).toBe(
      "the page is too complex to be read in time",
    );
    const read = createReader();
    expect((await read("article", { html: "<p>x" }, never)).text).toBe("x");
  });

  test("leaves no process running after an abort", async () => {
    const read = createReader();
    const readers = () => childrenOf(process.pid).filter((pid) => wordsOf(pid).at(-1) === READER_WORD);
    const abort = new AbortController();
    const reading = read("article", { html: "<".repeat(3_000_000) }, abort.signal).catch(String);
    const early = read("article", { html: "<p>x" }, abort.signal).catch(String);
    const waiting = read("article", { html: "<p>x" }, abort.signal).catch(String);
    await until("a reader is at work", () => readers().length > 0);
    abort.abort(new Error("gone"));
    expect([await reading, await waiting]).toEqual(["Error: gone", "Error: gone"]);
    await early;
    await until("its process is gone", () => readers().length === 0);
  });
});
