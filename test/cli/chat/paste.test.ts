import { expect, test } from "bun:test";
import { PasteFilter, withLineEnds } from "../../../src/cli/chat/paste.ts";

function typed(...pieces: readonly string[]): string {
  const filter = new PasteFilter();
  return pieces.map((piece) => filter.push(piece)).join("");
}

test("keys pass as they are, an Escape and a half arrow at once", () => {
  const filter = new PasteFilter();
  for (const keys of ["abc\r", "\u001b", "\u001b[", "\u001b[A", "\u0003"])
    expect(filter.push(keys)).toBe(keys);
});

test("pasted text comes as one line that is several again later, and steers nothing", () => {
  const pasted = typed("x\u001b[200~one\r\ntwo\rthree\n\tfour\u0003\u001b[201~y\r");
  expect(pasted).toBe("xone\u2424two\u2424three\u2424    foury\r");
  expect(withLineEnds(pasted)).toBe("xone\ntwo\nthree\n    foury\r");
});

test("however the terminal cuts it", () => {
  const keys = "a\u001b[200~b\nc\u001b[201~d\u001b[201x";
  for (let at = 1; at < keys.length; at++) {
    const left = keys.slice(0, at);
    if (left.endsWith("\u001b") || left.endsWith("\u001b[")) continue; // an Escape is a key by itself
    expect(typed(keys.slice(0, at), keys.slice(at))).toBe("ab\u2424cd\u001b[201x");
  }
  expect(typed("\u001b[20", "0~a\nb\u001b[2", "01~")).toBe("a\u2424b");
});
