// English words of numbers, as one says them. Pure.

import { itemAt } from "../../core/assert.ts";

const SMALL =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(
    " ",
  );
const TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const SCALES = ["", " thousand", " million", " billion", " trillion", " quadrillion"];
/** Longer runs of digits are codes, which are read digit by digit. */
const CARDINAL_DIGITS_MAX = 15;
const IRREGULAR_ORDINALS: Readonly<Record<string, string>> = {
  one: "first",
  two: "second",
  three: "third",
  five: "fifth",
  eight: "eighth",
  nine: "ninth",
  twelve: "twelfth",
};

/** Each digit by itself. */
export function digits(text: string): string {
  return text
    .replace(/\D/g, "")
    .split("")
    .map((digit) => itemAt(SMALL, Number(digit)))
    .join(" ");
}

/** `text` is digits, perhaps in groups by commas. */
export function cardinal(text: string): string {
  const plain = text.replaceAll(",", "");
  if (plain.length > CARDINAL_DIGITS_MAX || (plain.length > 1 && plain.startsWith("0"))) return digits(plain);
  const value = Number(plain);
  return value < 100 ? belowHundred(value) : large(plain);
}

function belowHundred(value: number): string {
  if (value < 20) return itemAt(SMALL, value);
  const ones = value % 10;
  const tens = itemAt(TENS, Math.floor(value / 10));
  return ones === 0 ? tens : `${tens}-${itemAt(SMALL, ones)}`;
}

/** Groups of three digits, each with its scale. */
function large(plain: string): string {
  const groups: string[] = [];
  for (let end = plain.length, scale = 0; end > 0; end -= 3, scale++) {
    const group = Number(plain.slice(Math.max(0, end - 3), end));
    if (group === 0) continue;
    const hundreds = Math.floor(group / 100);
    const rest = group % 100;
    const words = [
      ...(hundreds === 0 ? [] : [`${itemAt(SMALL, hundreds)} hundred`]),
      ...(rest === 0 ? [] : [belowHundred(rest)]),
    ];
    groups.unshift(words.join(" ") + itemAt(SCALES, scale));
  }
  return groups.join(" ");
}

/** First, second; `text` as for `cardinal`. */
export function ordinal(text: string): string {
  const words = cardinal(text);
  const start = Math.max(words.lastIndexOf(" "), words.lastIndexOf("-")) + 1;
  const last = words.slice(start);
  const ending = IRREGULAR_ORDINALS[last] ?? (last.endsWith("y") ? `${last.slice(0, -1)}ieth` : `${last}th`);
  return words.slice(0, start) + ending;
}

/** A whole number or a decimal fraction, without a sign. */
export function decimal(text: string): string {
  const [whole = "", ...parts] = text.split(".");
  const head = whole === "" ? "zero" : cardinal(whole);
  return [head, ...parts.map(digits)].join(" point ");
}

/** Four digits: nineteen eighty-four, twenty ten, two thousand five. */
export function year(text: string): string {
  const century = Number(text.slice(0, 2));
  const rest = Number(text.slice(2));
  if (text.slice(1, 3) === "00") return cardinal(text);
  if (rest === 0) return `${belowHundred(century)} hundred`;
  return `${belowHundred(century)} ${rest < 10 ? `oh ${itemAt(SMALL, rest)}` : belowHundred(rest)}`;
}

/** A number in the plural: twenties, nineteen nineties. */
export function plural(words: string): string {
  if (words.endsWith("y")) return `${words.slice(0, -1)}ies`;
  return words.endsWith("x") ? `${words}es` : `${words}s`;
}

/** The value of a Roman numeral, as digits. */
export function romanDigits(numeral: string): string {
  const values: Readonly<Record<string, number>> = { I: 1, V: 5, X: 10, L: 50, C: 100, D: 500, M: 1000 };
  const each = numeral.split("").map((letter) => values[letter] ?? 0);
  return String(each.reduce((sum, value, at) => sum + (value < (each[at + 1] ?? 0) ? -value : value), 0));
}
