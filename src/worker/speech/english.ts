// Text for an English voice that reads ASCII only, in words (spoken.ts).

import { ServiceError } from "../../core/error.ts";
import { spokenEnglish } from "./spoken.ts";
import { SPEECH_WORD_CHARS_MAX } from "../shared/limits.ts";

/** ASCII spellings of characters that are not an accented ASCII letter. Spellings that are words have spaces around them. */
const SPELLINGS: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  Æ: "Ae",
  œ: "oe",
  Œ: "Oe",
  ø: "o",
  Ø: "O",
  ł: "l",
  Ł: "L",
  đ: "d",
  Đ: "D",
  ð: "d",
  Ð: "D",
  þ: "th",
  Þ: "Th",
  ı: "i",
  "‘": "'",
  "’": "'",
  "‚": "'",
  "“": '"',
  "”": '"',
  "„": '"',
  "«": '"',
  "»": '"',
  "−": "-",
  "‐": "-",
  "‑": "-",
  "⁄": "/",
  "–": " - ",
  "—": " - ",
  "•": " - ",
  "€": " euro ",
  "£": " pound ",
  "¥": " yen ",
  "°": " degrees ",
  "×": " times ",
  "÷": " divided by ",
  "±": " plus or minus ",
  "≤": " at most ",
  "≥": " at least ",
  "≠": " is not ",
  "→": " to ",
};

/** Letters, digits and symbols; the rest of ASCII only affects intonation. */
const AUDIBLE = /[A-Za-z0-9#$%&*+/=@\\^_|~]/;
const FULL_WIDTH = /[\uff01-\uff5e]+/g;
const LONG_WORD = new RegExp(`\\S{${SPEECH_WORD_CHARS_MAX}}(?=\\S)`, "g");

/** Whether the voice makes sound of a text. */
export function isAudibleEnglish(text: string): boolean {
  return AUDIBLE.test(text);
}

/**
 * The text as one says it, in ASCII: letters lose their accents, full-width forms become plain, other scripts, emoji and control characters
 * are dropped. Throws ServiceError(unsupported_value) when nothing is left that makes sound.
 */
export function readableEnglish(text: string): string {
  const plain = spokenEnglish(text.replace(FULL_WIDTH, (wide) => wide.normalize("NFKC")))
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .replace(/[^\n\x20-\x7e]/gu, (character) => SPELLINGS[character] ?? " ")
    .replace(LONG_WORD, "$& "); // flite's time is quadratic in a word's length
  if (isAudibleEnglish(plain)) return plain;
  const reason = /\p{L}/u.test(text)
    ? "is in a script that this English voice cannot read; write it in Latin letters, or name a model that speaks its language"
    : "has no letter, digit or symbol that this voice could speak; send words";
  throw new ServiceError("unsupported_value", `input ${reason}`, { param: "input" });
}
