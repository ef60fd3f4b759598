import { describe, expect, test } from "bun:test";
import { duckduckgoHits } from "../../src/reader/duckduckgo.ts";

interface Parts {
  readonly title?: string;
  readonly href?: string;
  readonly snippet?: string;
  readonly shown?: string;
  readonly kind?: string;
}

/** One result in the structure of the engine's form without scripts. */
function result(parts: Parts = {}): string {
  const {
    title = "A <b>title</b>",
    snippet = "What it\n is about",
    shown = "www.example.org/a",
    kind = "",
  } = parts;
  const href =
    parts.href ??
    `//duckduckgo.com/l/?uddg=${encodeURIComponent("https://www.example.org/a?b=1&c=2")}&rut=0f`;
  return `<div class="result results_links results_links_deep web-result ${kind}"><div class="links_main result__body">
    <h2 class="result__title"><a rel="nofollow" class="result__a" href="${href}">${title}</a></h2>
    <div class="result__extras"><a class="result__url" href="${href}"> ${shown} </a></div>
    <a class="result__snippet" href="${href}">${snippet}</a></div></div>`;
}

const pageOf = (...results: readonly string[]) =>
  `<!DOCTYPE html><html><head><title>q at DuckDuckGo</title></head><body><div class="serp__results"><div id="links" class="results">${results.join("\n")}</div></div></body></html>`;

const only = (parts: Parts) => duckduckgoHits(pageOf(result(parts))).hits[0];

describe("a result", () => {
  test("has title, snippet and the target of its redirect link", () => {
    expect(duckduckgoHits(pageOf(result()))).toEqual({
      state: "found",
      hits: [{ title: "A title", description: "What it is about", url: "https://www.example.org/a?b=1&c=2" }],
    });
  });

  test("may link directly, or only display its URL", () => {
    expect(only({ href: "https://example.net/x" })?.url).toBe("https://example.net/x");
    expect(only({ href: "", shown: "example.com/shown" })?.url).toBe("https://example.com/shown");
  });

  test("keeps entities and non-Latin scripts", () => {
    const hit = only({ title: "Tom &amp; J&eacute;r&ocirc;me", snippet: "東京 &lt;tag&gt;" });
    expect([hit?.title, hit?.description]).toEqual(["Tom & Jérôme", "東京 <tag>"]);
  });

  test.each<[string, Parts]>([
    ["an advertisement", { kind: "result--ad" }],
    ["one without a title", { title: " " }],
    ["one without a snippet", { snippet: "" }],
    ["one without a valid URL", { href: "javascript:alert(1)", shown: "" }],
    [
      "one behind a counter that leads nowhere",
      { href: "//duckduckgo.com/l/?uddg=file%3A%2F%2F%2Fetc%2Fpasswd", shown: "" },
    ],
  ])("is dropped: %s", (_what, parts) => {
    expect(
      duckduckgoHits(pageOf(result(parts), result({ title: "Good" }))).hits.map(({ title }) => title),
    ).toEqual(["Good"]);
  });
});

test("results keep their order", () => {
  const titles = ["one", "two", "three"];
  const { hits } = duckduckgoHits(pageOf(...titles.map((title) => result({ title }))));
  expect(hits.map(({ title }) => title)).toEqual(titles);
});

test.each([
  [
    "nothing",
    pageOf('<div class="result results_links result--no-result"><div class="no-results">None.</div></div>'),
  ],
  ["refused", pageOf('<form id="challenge-form" action="//duckduckgo.com/anomaly.js"></form>')],
  ["unknown", "<html><body>Bad gateway</body></html>"],
  ["unknown", ""],
] as const)("a page without results says why: %s", (state, html) => {
  expect(duckduckgoHits(html)).toEqual({ hits: [], state });
});
