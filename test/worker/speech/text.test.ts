// What a voice makes of a text before it speaks: what it can read, and the pieces it speaks one after the other.

import { describe, expect, test } from "bun:test";
import { ServiceError } from "../../../src/core/error.ts";
import { SPEECH_FIRST_PIECE_CHARS, SPEECH_PIECE_CHARS_MAX } from "../../../src/worker/shared/limits.ts";
import { ENGLISH, VERBATIM, type Reading } from "../../../src/worker/speech/reading.ts";
import { piecesOf } from "../../../src/worker/speech/pieces.ts";

function refusal(reading: Reading, text: string): ServiceError {
  try {
    reading.readable(text);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error(`${JSON.stringify(text)} was not refused`);
}

describe("an English voice", () => {
  for (const [text, read] of [
    ["Café, naïve, Łódź, Straße, smørrebrød", "Cafe, naive, Lodz, Strasse, smorrebrod"],
    ["“It’s – well – fine…”", '"It\'s  -  well  -  fine..."'],
    ["Ｈｅｌｌｏ ２", "Hello two"],
    ["5 € at 20°", "five euros at twenty degrees"],
    ["½ of ② ™", " one half of 2 TM"],
    ["Hello 世界, and мир!", "Hello   , and    !"],
    ["well 👋🏽 done\u0000\u0007", "well    done  "],
    ["one\ntwo\tthree\u2028four", "one\ntwo three four"],
  ] as const) {
    test(`reads ${JSON.stringify(text)}`, () => {
      expect(ENGLISH.readable(text)).toBe(read);
    });
  }

  test("gets nothing but ASCII, whatever comes", () => {
    for (let code = 1; code < 0x11000; code += 7) {
      const text = `a${String.fromCodePoint(code)}b`;
      expect(ENGLISH.readable(text)).toMatch(/^[\n\x20-\x7e]*$/);
    }
  });

  test("takes a word that never ends in parts", () => {
    const words = ENGLISH.readable("a".repeat(1000)).split(" ");
    expect(words.length).toBeGreaterThan(30);
    expect(words.join("")).toBe("a".repeat(1000));
    expect(Math.max(...words.map(({ length }) => length))).toBeLessThan(31);
  });

  for (const text of ["日本語です。", "Привет, мир!", "مرحبا", "שלום", "नमस्ते", "안녕"]) {
    test(`refuses ${text} for its script`, () => {
      const error = refusal(ENGLISH, text);
      expect([error.code, error.param]).toEqual(["unsupported_value", "input"]);
      expect(error.message).toContain("script");
    });
  }

  for (const text of ["...", "?!", "👍", "—", "()[]{}<>", '"\'"', "\u0000", "、。"]) {
    test(`refuses ${JSON.stringify(text)}, which has nothing to speak`, () => {
      const error = refusal(ENGLISH, text);
      expect([error.code, error.param]).toEqual(["unsupported_value", "input"]);
      expect(error.message).toContain("no letter");
    });
  }
});

describe("a voice with a language of its own", () => {
  test("gets the text as it is", () => {
    expect(VERBATIM.readable("日本語、“ja”\u0000!")).toBe("日本語、“ja” !");
  });

  test("refuses what has no letter and no digit", () => {
    for (const text of ["…", "👍", "?!"]) expect(refusal(VERBATIM, text).param).toBe("input");
  });
});

describe("pieces", () => {
  test("are sentences", () => {
    expect(piecesOf("One. Two! Three?  Four")).toEqual(["One.", "Two!", "Three?", "Four"]);
  });

  test("do not end after titles and initials", () => {
    expect(piecesOf("It was Dr. Smith of St. Louis. J. R. Brown came. See fig. 3.")).toEqual([
      "It was Dr. Smith of St. Louis.",
      "J. R. Brown came.",
      "See fig. 3.",
    ]);
  });

  test("end with paragraphs and items, but not with wrapped lines", () => {
    expect(piecesOf("A heading\r\n\r\nA line that\nis wrapped.\n- one\n- two\n1. first")).toEqual([
      "A heading",
      "A line that is wrapped.",
      "- one",
      "- two",
      "1. first",
    ]);
  });

  test("of a long sentence end with clauses where they can, the first one early", () => {
    const clause = "and then there was a clause of about forty, ";
    const pieces = piecesOf(`${clause.repeat(12).trimEnd()} the end.`);
    expect(pieces[0]?.length).toBeLessThanOrEqual(SPEECH_FIRST_PIECE_CHARS);
    expect(pieces.length).toBeGreaterThan(3);
    for (const piece of pieces.slice(0, -1)) expect(piece).toEndWith(",");
  });

  test("are never too long, and nothing is lost or cut in two", () => {
    for (const text of [
      "word ".repeat(400),
      "x".repeat(1001),
      "😀".repeat(501),
      "A. ".repeat(5000),
      "\n".repeat(5000),
    ]) {
      const pieces = piecesOf(text);
      for (const piece of pieces) {
        expect(piece.length).toBeLessThanOrEqual(SPEECH_PIECE_CHARS_MAX);
        expect(piece.isWellFormed()).toBe(true);
      }
      expect(pieces.join("").replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
    }
  });

  test("of nothing are none", () => {
    expect(piecesOf("")).toEqual([]);
    expect(piecesOf(" \n ")).toEqual([]);
  });
});
