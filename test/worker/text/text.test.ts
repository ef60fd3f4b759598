import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Detokenizer, TokenTexts } from "../../../src/worker/text/detokenize.ts";
import { HoldBack } from "../../../src/worker/text/hold-back.ts";

/** Cuts text at random places. */
const pieces = (text: fc.Arbitrary<string>) =>
  fc.tuple(text, fc.array(fc.nat({ max: 8 }), { minLength: 1 })).map(([whole, cuts]) => {
    const out: string[] = [];
    for (let at = 0, i = 0; at < whole.length; i++) {
      const length = 1 + (cuts[i % cuts.length] ?? 0);
      out.push(whole.slice(at, at + length));
      at += length;
    }
    return { whole, parts: out };
  });

describe("HoldBack", () => {
  const small = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 40 });
  const needle = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 5 });

  test("however text is cut, what comes out ends exactly before the first match", () => {
    fc.assert(
      fc.property(pieces(small), fc.array(needle, { maxLength: 3 }), ({ whole, parts }, needles) => {
        const holdBack = new HoldBack(needles);
        let out = "";
        for (const part of parts) {
          const { free, match } = holdBack.push(part);
          out += free;
          // The first match in the order of arrival: the shortest beginning of the text that contains a needle.
          if (match !== undefined) {
            expect(whole.startsWith(out + match)).toBe(true);
            expect(needles.some((n) => out.includes(n))).toBe(false);
            return;
          }
        }
        out += holdBack.flush();
        expect(out).toBe(whole);
        expect(needles.some((n) => whole.includes(n))).toBe(false);
      }),
    );
  });

  test("text that cannot begin a match is passed on at once", () => {
    const holdBack = new HoldBack(["</think>", ""]);
    expect(holdBack.push("hello")).toEqual({ free: "hello", match: undefined, rest: "" });
    expect(holdBack.push(" <")).toEqual({ free: " ", match: undefined, rest: "" });
    expect(holdBack.push("b>")).toEqual({ free: "<b>", match: undefined, rest: "" });
    expect(holdBack.push("x</think>y")).toEqual({ free: "x", match: "</think>", rest: "</think>y" });
  });
});

describe("Detokenizer", () => {
  test("characters split over tokens come out whole, whatever the split", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }),
        (text, cuts) => {
          const bytes = new TextEncoder().encode(text);
          const detokenizer = new Detokenizer(new TokenTexts());
          let out = "";
          for (let at = 0, token = 0; at < bytes.length; token++) {
            const length = cuts[token % cuts.length] ?? 1;
            out += detokenizer.push(token, bytes.slice(at, at + length));
            at += length;
          }
          expect(out).toBe(text);
        },
      ),
    );
  });

  test("bytes that are no UTF-8 become replacement characters and lose nothing after them", () => {
    const detokenizer = new Detokenizer(new TokenTexts());
    const out = [[0xf0, 0x9f], [0x41], [0xff], [0x42]].map((bytes, i) =>
      detokenizer.push(i, Uint8Array.from(bytes)),
    );
    expect(out.join("")).toBe("\ufffdA\ufffdB");
  });

  test("a token that one sequence shows and another hides is text for the first alone", () => {
    const texts = new TokenTexts();
    const [shown, hidden] = [Buffer.from("<tool_call>"), new Uint8Array()];
    for (const bytes of [hidden, shown, hidden, shown])
      expect(new Detokenizer(texts).push(7, bytes)).toBe(bytes.toString() && "<tool_call>");
  });

  test("an unfinished character waits for its end", () => {
    const detokenizer = new Detokenizer(new TokenTexts());
    expect(detokenizer.push(1, Uint8Array.of(0xe2, 0x82))).toBe("");
    expect(detokenizer.push(2, Uint8Array.of(0xac))).toBe("€");
  });
});
