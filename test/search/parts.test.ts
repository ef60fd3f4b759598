// Parts of a search: domain filter, semaphore, token budget, embedding rerank.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { SERVER } from "../../src/core/caller.ts";
import { PASSAGES_RERANKED_MAX } from "../../src/core/limits.ts";
import type { EmbedRequest } from "../../src/core/run.ts";
import type { Passage, ReadHit } from "../../src/reader/protocol.ts";
import { hostsOf, isAllowed } from "../../src/search/domains.ts";
import { fitResults, fitText } from "../../src/search/fit.ts";
import { embeddingRerank, GEMMA_FORM, PLAIN_FORM } from "../../src/search/rerank.ts";
import { Semaphore } from "../../src/core/semaphore.ts";
import { budgetOf } from "../helpers/web.ts";

describe("a filter", () => {
  test.each<[string, string, boolean]>([
    ["example.com", "https://example.com/a", true],
    ["example.com", "https://www.example.com/a", true],
    ["example.com", "https://docs.example.com./a", true],
    ["www.example.com", "https://example.com/", true],
    ["EXAMPLE.com", "https://Example.COM:8443/", true],
    ["https://example.com/", "https://example.com/", true],
    ["*.example.com", "https://a.example.com/", true],
    ["example.com", "https://notexample.com/", false],
    ["example.com", "https://example.com.evil.example/", false],
    ["docs.example.com", "https://example.com/", false],
    ["example.com", "nonsense", false],
    ["münchen.example", "https://xn--mnchen-3ya.example/", true],
    ["http://", "https://example.com/", false],
  ])("of %s and the address %s", (domain, url, isWithin) => {
    expect(isAllowed(url, { allowed: [domain], blocked: [] })).toBe(isWithin);
    if (url !== "nonsense") expect(isAllowed(url, { allowed: [], blocked: [domain] })).toBe(!isWithin);
  });

  test("a blocked host is blocked even if also allowed", () => {
    const filter = { allowed: ["example.com"], blocked: ["bad.example.com"] };
    expect(isAllowed("https://good.example.com/", filter)).toBe(true);
    expect(isAllowed("https://very.bad.example.com/", filter)).toBe(false);
  });

  test("hosts are unique and normalized", () => {
    expect(
      hostsOf(["https://www.a.example/1", "http://a.example/2", "nonsense", "https://b.example"]),
    ).toEqual(["a.example", "b.example"]);
  });
});

describe("slots", () => {
  const never = new AbortController().signal;

  test("limit concurrency, FIFO, also after failures", async () => {
    const slots = new Semaphore(2);
    let inside = 0;
    let most = 0;
    const order: number[] = [];
    const work = (number: number) => async () => {
      most = Math.max(most, ++inside);
      order.push(number);
      await Bun.sleep(0);
      inside--;
      if (number % 2 === 0) throw new Error("even");
      return number;
    };
    const outcomes = await Promise.allSettled(
      [0, 1, 2, 3, 4, 5, 6].map((number) => slots.run(work(number), never)),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    expect([most, order]).toEqual([2, [0, 1, 2, 3, 4, 5, 6]]);
  });

  test("drop aborted waiters", async () => {
    const slots = new Semaphore(1);
    const held = Promise.withResolvers<void>();
    const first = slots.run(() => held.promise, never);
    const abort = new AbortController();
    const second = slots.run(async () => "second", abort.signal);
    const third = slots.run(async () => "third", never);
    abort.abort(new Error("gone"));
    expect(await second.catch(String)).toBe("Error: gone");
    held.resolve();
    await first;
    expect(await third).toBe("third");
    expect(await slots.run(async () => "fourth", abort.signal).catch(String)).toBe("Error: gone");
  });
});

const hit = (name: string, text = ""): ReadHit => ({
  title: `Title ${name}`,
  description: `About ${name}`,
  url: `https://${name}.example/`,
  text,
});
const passage = (at: number, index: number, text: string): Passage => ({ hit: at, index, text });

describe("a budget", () => {
  const hits = [hit("a", "…"), hit("b", "…"), hit("c")];
  const passages = [
    passage(1, 5, "five"),
    passage(0, 0, "zero"),
    passage(1, 2, "two"),
    passage(1, 3, "three"),
  ];

  test("that is large keeps all, pages by their best passage, passages in reading order", async () => {
    expect(await fitResults(hits, passages, budgetOf(1000))).toEqual([
      {
        title: "Title b",
        description: "About b",
        url: "https://b.example/",
        content: "two\n\nthree\n\n[…]\n\nfive",
      },
      { title: "Title a", description: "About a", url: "https://a.example/", content: "zero" },
      { title: "Title c", description: "About c", url: "https://c.example/", content: "" },
    ]);
  });

  test("that is small keeps the best passages", async () => {
    const long = "word ".repeat(200).trim();
    const results = await fitResults(hits, [passage(1, 0, long), passage(0, 0, long)], budgetOf(200));
    expect(results.map(({ title, content }) => [title, content.endsWith(" …")])).toEqual([["Title b", true]]);
  });

  test("is never exceeded, for any results and tokenizer", async () => {
    const texts = fc.string({ unit: "grapheme", maxLength: 3000 });
    const property = fc.asyncProperty(
      fc.array(texts, { maxLength: 12 }),
      fc.integer({ min: 1, max: 2000 }),
      fc.integer({ min: 1, max: 8 }),
      async (found, tokensMax, charsPerToken) => {
        const count = async (text: string) => Math.ceil(text.length / charsPerToken);
        const all = found.map((text, index) => hit(`h${index}`, text));
        const ranked = found.map((text, index) => passage(index, 0, text));
        const results = await fitResults(all, ranked, { tokensMax, count });
        expect(await count(JSON.stringify(results))).toBeLessThanOrEqual(Math.max(tokensMax, 2));
        const whole = found.join("");
        const head = await fitText(whole, { tokensMax, count });
        expect(await count(JSON.stringify(head))).toBeLessThanOrEqual(Math.max(tokensMax, 2));
        if (whole.isWellFormed()) expect(head.isWellFormed()).toBe(true);
      },
    );
    await fc.assert(property, { numRuns: 100 });
  });

  test("of a text keeps its start and marks the cut", async () => {
    expect(await fitText("short", budgetOf(100))).toBe("short");
    const head = await fitText("word ".repeat(1000), budgetOf(100));
    expect(head).toStartWith("word word");
    expect(head).toEndWith(" …");
    expect(head.length).toBeGreaterThan(300);
  });

  test("counts tokens a few times only", async () => {
    let counts = 0;
    const dear = async () => 1_000_000 + counts++;
    expect(await fitText("x".repeat(100_000), { tokensMax: 100, count: dear })).toBe("");
    expect(counts).toBeLessThan(10);
  });
});

describe("embedding rerank", () => {
  const never = new AbortController().signal;
  const asked: EmbedRequest[] = [];
  /** Points where the first digit of a text says. */
  const embed = async (request: EmbedRequest) => {
    asked.push(request);
    const vectors = request.inputs.map((text) => {
      const angle = Number(/\d/.exec(String(text))?.[0] ?? 0) / 3;
      return [Math.cos(angle), Math.sin(angle)];
    });
    return { vectors, promptTokens: 0 };
  };

  test("sorts by similarity and keeps the order beyond its limit", async () => {
    const passages = ["1", "3", "2", ...Array.from({ length: 30 }, () => "0")].map((text, index) =>
      passage(0, index, text),
    );
    const rerank = embeddingRerank(embed, "vectors", PLAIN_FORM);
    const ranked = await rerank("3", { hits: [hit("a")], passages }, never, SERVER);
    expect(ranked.slice(0, 3).map(({ text }) => text)).toEqual(["3", "2", "1"]);
    expect(ranked).toHaveLength(passages.length);
    expect(ranked.slice(PASSAGES_RERANKED_MAX)).toEqual(passages.slice(PASSAGES_RERANKED_MAX));
    expect(asked.at(-1)).toMatchObject({ model: "vectors", truncate: true });
    expect(asked.at(-1)?.inputs.slice(0, 2)).toEqual(["3", "Title a\n1"]);
  });

  test("uses EmbeddingGemma's prompt format", async () => {
    const rerank = embeddingRerank(embed, "embedding-gemma", GEMMA_FORM);
    const hits = [hit("a"), { ...hit("b"), title: "" }];
    await rerank("q", { hits, passages: [passage(0, 0, "x"), passage(1, 0, "y")] }, never, SERVER);
    expect(asked.at(-1)?.inputs).toEqual([
      "task: search result | query: q",
      "title: Title a | text: x",
      "title: none | text: y",
    ]);
  });
});
