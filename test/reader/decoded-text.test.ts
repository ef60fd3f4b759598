// Texts of files in encodings that nothing names.

import { expect, test } from "bun:test";
import { decodedText, textIn } from "../../src/reader/documents/decoded-text.ts";
import { randomBytes } from "node:crypto";

const fromHex = (hex: string): Uint8Array => Uint8Array.fromHex(hex);

test.each([
  ["Shift-JIS", "938c8b9e82cc93568b438141834a835e834a8369", "東京の天気、カタカナ"],
  ["EUC-JP", "c5ecb5fea4cec5b7b5a4a1a2a5aba5bfa5aba5ca", "東京の天気、カタカナ"],
  ["EUC-KR", "bcadbfefc0c720b3afbebeb4c2", "서울의 날씨는"],
  ["GB 18030", "b1b1bea9b5c4ccecc6f8a3acb2bbcac7", "北京的天气，不是"],
  ["Big5", "a578a55faabaa4d1aef0a141a4a3ac4f", "台北的天氣，不是"],
  ["Windows-1251", "cceef1eae2e020f1e5e3eee4edff", "Москва сегодня"],
  ["KOI8-R", "edcfd3cbd7c120d3c5c7cfc4ced1", "Москва сегодня"],
  ["Windows-1252", "4772f6df6520846775749320352080", "Größe „gut“ 5 €"],
  ["UTF-16 with a mark", "fffe47007200f600df006500", "Größe"],
  ["UTF-16, the other way round", "feff004700f6", "Gö"],
  ["UTF-8", "47c3b6", "Gö"],
])("%s is read", (_, hex, text) => {
  expect(textIn(fromHex(hex))).toBe(text);
  expect(decodedText(fromHex(hex))).toBe(text);
});

test("a sample that ends within a character is read to the end of the file", () => {
  const text = fromHex("938c8b9e82cc");
  const long = Buffer.concat([Buffer.from("a"), ...Array.from({ length: 20_000 }, () => text)]);
  expect(textIn(long)).toBe(`a${"東京の".repeat(20_000)}`);
});

test.each([
  ["NUL in UTF-8", "610062"],
  ["NUL in UTF-16", "fffe610000006200"],
  ["half a character of UTF-16", "fffe6100d8"],
  ["control characters", "89504e470d0a1a0a01f6"],
  ["noise", randomBytes(4096).toHex()],
])("%s is no text", (_, hex) => {
  expect(textIn(fromHex(hex))).toBeUndefined();
});
