import { describe, expect, test } from "bun:test";
import { PASSAGE_CHARS_MAX } from "../../src/core/limits.ts";
import { rankPassages } from "../../src/reader/ranking.ts";

const hit = (text: string, title = "") => ({ title, description: "", url: "https://a.example/", text });
const order = (query: string, ...texts: readonly string[]) =>
  rankPassages(
    query,
    texts.map((text) => hit(text)),
  ).map((passage) => passage.hit);

const FILLER = "Something else altogether is told here at some length, and nobody asked for it. ";

describe("passages are in order", () => {
  test("by the words of the query, rare ones first", () => {
    expect(
      order("how heavy is a sea otter", "Rivers flow.", "An otter, a river.", "A sea otter, and how heavy."),
    ).toEqual([2, 1, 0]);
  });

  test("ignoring case, and for longer forms of a word", () => {
    expect(order("OTTER", "Nothing.", "The otters swim.")).toEqual([1, 0]);
  });

  test("in scripts without spaces", () => {
    expect(order("東京の天気", "大阪の食べ物。", "東京の天気は晴れです。")[0]).toBe(1);
  });

  test("with at least the first passage of every page", () => {
    const long = Array.from({ length: 40 }, () => FILLER.repeat(10)).join("\n\n");
    const passages = rankPassages("otters", [hit(long), hit(""), hit(`${long}\n\nOtters.`)]);
    expect(passages[0]?.text).toEndWith("Otters.");
    expect(passages.slice(1).map(({ hit: at, index }) => [at, index])).toEqual([[0, 0]]);
  });

  test("a title helps its passages", () => {
    const ranked = rankPassages("otters", [hit("They swim."), hit("They swim.", "Otters")]);
    expect(ranked.map((passage) => passage.hit)).toEqual([1, 0]);
  });

  test.each(["", "???", "\u0000"])("a query without words leaves them as they were: %j", (query) => {
    expect(order(query, "One.", "Two.")).toEqual([0, 1]);
  });
});

describe("a passage", () => {
  const passages = (text: string, query = "x") =>
    rankPassages(query, [hit(text)])
      .toSorted((a, b) => a.index - b.index)
      .map((passage) => passage.text);
  const words = (text: string) => Array.from({ length: 2000 }, (_, index) => `x ${text}${index}.`).join(" ");

  test("consists of whole paragraphs", () => {
    expect(passages("x one\n\nx two")).toEqual(["x one\n\nx two"]);
    const long = `x ${FILLER.repeat(12)}`.trim();
    expect(passages(`${long}\n\n${long}`)).toEqual([long, long]);
  });

  test("is cut after a sentence, else after a word, else anywhere", () => {
    for (const piece of passages(words("s")).slice(0, -1)) expect(piece).toMatch(/\.$/);
    for (const piece of passages(words("w").replaceAll(".", "")).slice(0, -1))
      expect(piece).not.toMatch(/\s$/);
    const solid = passages("x".repeat(5000), "xxxx");
    expect(solid.join("")).toBe("x".repeat(5000));
    for (const piece of solid) expect(piece.length).toBeLessThanOrEqual(PASSAGE_CHARS_MAX);
  });

  test("never ends within a character", () => {
    for (const lead of ["", "x"]) {
      const pieces = passages(`${lead}${"木🦦".repeat(2000)}`, "木");
      expect(pieces.length).toBeGreaterThan(3);
      expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
    }
  });
});
