import { describe, expect, test } from "bun:test";
import { articleOf } from "../../src/reader/article.ts";
import { ARTICLE_DEPTH_MAX, ARTICLE_ELEMENTS_MAX } from "../../src/reader/limits.ts";

const FILLER =
  "Otters live by rivers, eat fish, and float on their backs while they hold hands, which keeps them together. ";

const pageOf = (article: string) => `<!doctype html><html><head><title>Otters - The river</title>
<script>var a = "not text";</script><style>p { color: red }</style></head><body>
<nav><ul><li><a href="/">Start</a></li><li><a href="/about">About</a></li></ul></nav>
<div class="content"><article><h1>All about otters</h1>${article}</article></div>
<aside>Subscribe now</aside><footer>Imprint</footer></body></html>`;

describe("an article", () => {
  const { title, text } = articleOf(
    pageOf(`<p>${FILLER.repeat(4)}</p><h2>Food</h2><p>Fish &amp; crabs. <a href="/x">More</a>.</p>
      <ul><li>trout</li><li>salmon</li></ul><table><tr><th>Kind</th><th>kg</th></tr><tr><td>Sea</td><td>30</td></tr></table>
      <pre>if (x)\n  y();</pre><p>${FILLER.repeat(4)}</p><img src="a.png" alt="A picture">`),
  );

  test("is extracted without navigation", () => {
    expect(title).toContain("Otters");
    expect(text).toContain("Fish & crabs. More.");
    for (const other of ["not text", "color: red", "Start", "Subscribe", "Imprint", "A picture", "/x"]) {
      expect(text).not.toContain(other);
    }
  });

  test("keeps headings, lists, tables and code apart", () => {
    expect(text).toContain("\n\nFood\n\n");
    expect(text).toContain(" * trout\n * salmon");
    expect(text).toMatch(/Kind +kg\nSea +30/);
    expect(text).toContain("if (x)\n  y();");
  });
});

describe("a page without an article is converted whole", () => {
  test("when it is short", () => {
    const { title, text } = articleOf(
      "<html><head><title>Price</title></head><body><nav>Menu</nav><p>Tea: 3 €</p></body></html>",
    );
    expect([title, text]).toEqual(["Price", "Tea: 3 €"]);
  });

  test.each([
    ["an HTML fragment", "<p>loose</p>", "loose"],
    ["not HTML", "just words", "just words"],
    ["nothing", "", ""],
    ["only a script", "<html><body><script>x()</script></body></html>", ""],
    ["without a body", "<html><main><p>Written without optional tags", "Written without optional tags"],
    ["unclosed tags", "<html><body><div><p>one<p>two", "one\n\ntwo"],
  ])("when it is %s", (_what, html, text) => {
    expect(articleOf(html).text).toBe(text);
  });
});

test("invisible characters are dropped except joiners; empty lines are limited", () => {
  const hidden = `<html><body><p>a\u202Eb\u0001c\u{E0041}\u{E0042}\u200Dd</p>${"<br>".repeat(50)}<p>e</p></body></html>`;
  expect(articleOf(hidden).text).toBe("abc\u200Dd\n\ne");
});

test.each([
  ["a mark of Arabic", "a\u061Cb", "ab"],
  ["fillers of Hangul", "a\u115F\u1160b\u3164\uFFA0c", "abc"],
  ["selectors and tags that carry bytes", "a\uFE00\uFE01\u{E0100}\u{E01EF}b\u{E0041}", "ab"],
  ["a selector after no emoji", "x\uFE0Fy", "xy"],
  ["joiners in a row", "a\u200D\u200C\u200Db", "ab"],
  ["soft hyphens and word joiners", "a\u00ADb\u2060c", "abc"],
])("%s are dropped", (_what, hidden, text) => {
  expect(articleOf(`<html><body><p>${hidden}</p></body></html>`).text).toBe(text);
});

test.each(["👩\u200D❤\uFE0F\u200D👩 1\uFE0F⃣", "می\u200Cخواهم", "क्\u200Dष", "שלום", "한국어", "größe"])(
  "%s is spelled as it was",
  (text) => expect(articleOf(`<html><body><p>${text}</p></body></html>`).text).toBe(text),
);

describe("crafted pages", () => {
  test.each([
    ["deeper than the limit", `<html><body>${"<div>".repeat(ARTICLE_DEPTH_MAX + 50)}core`],
    ["just below the depth limit", `<html><body>${"<div>".repeat(ARTICLE_DEPTH_MAX - 5)}core`],
    ["with more elements than the limit", `<html><body>${"<b>x</b>".repeat(ARTICLE_ELEMENTS_MAX + 1)}`],
    ["with 50,000 attributes on one element", `<html><body><p ${"a=1 ".repeat(50_000)}>core`],
    ["with an unclosed comment", `<html><body>core<!-- ${"x".repeat(500_000)}`],
    ["of entities", `<html><body>core${"&amp;".repeat(50_000)}`],
  ])("%s", (_what, html) => {
    expect(typeof articleOf(html).text).toBe("string");
  });
});
