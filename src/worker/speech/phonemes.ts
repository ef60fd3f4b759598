// From an English sentence in words (spoken.ts) to the sounds that a voice reads.

import { capitalized, type Lexicon, unstressed, withStress } from "./lexicon.ts";
import type { Tagger } from "./tagger.ts";

/** Parts that are needed to read a sentence. */
export interface Pronunciation {
  readonly lexicon: Lexicon;
  readonly tagger: Tagger;
  /** Sounds of a word that the lexicon does not have. */
  readonly unknown: (word: string) => Promise<string>;
}

interface Token {
  readonly text: string;
  /** Nothing but a mark of punctuation, as the voice reads it. */
  readonly mark?: string;
  readonly isSpaced: boolean;
}

const TOKEN = / -(?= )|( *)(?:([A-Za-z]+(?:'[A-Za-z]+)*'?)|(--+|\.{3}|[.,!?;:()"])|([^\sA-Za-z]))/g;
const MARKS: Readonly<Record<string, string>> = { "...": "…" };
const STARTS_WITH_VOWEL = /^[ˈˌ]?[AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻɐ]/;
/** Symbols that are said where the normalization has kept them. */
const SYMBOLS: Readonly<Record<string, string>> = {
  "/": "slˈæʃ",
  "=": "ˈikwəlz",
  "+": "plˈʌs",
  "@": "ˈæt",
  "#": "hˈæʃ",
  "*": "ˈæstəɹˌɪsk",
  "<": "lˈɛs ðən",
  ">": "ɡɹˈATəɹ ðən",
  _: "ˌʌndəɹskˈɔɹ",
  "\\": "bˈækslˌæʃ",
};

/** The sounds of a sentence. */
export async function phonemesOf(sentence: string, parts: Pronunciation): Promise<string> {
  const tokens = tokensOf(sentence);
  const tags = tagsOf(tokens, parts.tagger);
  let said = "";
  let next: string | undefined; // the sounds that follow; undefined before a pause
  for (let at = tokens.length - 1; at >= 0; at--) {
    const { text = "", mark, isSpaced } = tokens[at] ?? { isSpaced: false };
    const sound =
      mark ?? (await soundOf(text, { tag: tags[at] ?? "NN", next, after: tokens[at + 1]?.text }, parts));
    if (sound === "") continue;
    // A symbol is a word of its own; the parts of a compound are one.
    const isApart = isSpaced || (mark === undefined && [text, tokens[at - 1]?.text].some(isSymbol));
    said = `${isApart ? " " : ""}${sound}${said}`;
    next = mark === undefined ? sound : undefined;
  }
  return said.trim().replaceAll("ɾ", "T").replaceAll("ʔ", "t");
}

function tokensOf(sentence: string): readonly Token[] {
  return [...sentence.matchAll(TOKEN)].map(([all, space, word, mark, symbol]) => {
    if (word !== undefined) return { text: word, isSpaced: space !== "" };
    if (symbol !== undefined) return { text: symbol, isSpaced: space !== "" };
    const text = mark ?? all.trim();
    return { text, mark: MARKS[text] ?? (text.startsWith("-") ? "—" : text), isSpaced: space !== "" };
  });
}

/** Tags of the tokens. A contraction is two words for the tagger: I and 'll, have and n't; the first one counts. */
function tagsOf(tokens: readonly Token[], tagger: Tagger): readonly string[] {
  const words = tokens.map(({ text }) => text.split(/(?=n't$)|(?=')/));
  const tags = tagger(words.flat());
  let at = 0;
  return words.map(({ length }) => {
    const tag = tags[at] ?? "NN";
    at += length;
    return tag;
  });
}

function isSymbol(text: string | undefined): boolean {
  return text !== undefined && Object.hasOwn(SYMBOLS, text);
}

interface Place {
  readonly tag: string;
  readonly next: string | undefined;
  /** Text of the next token. */
  readonly after: string | undefined;
}

async function soundOf(word: string, place: Place, { lexicon, unknown }: Pronunciation): Promise<string> {
  if (!/[A-Za-z]/.test(word)) return isSymbol(word) ? (SYMBOLS[word] ?? "") : "";
  const use = { tag: place.tag, isLast: place.next === undefined };
  const small = smallWord(word, place, lexicon);
  if (small !== undefined) return small;
  const known = lexicon(word, use);
  if (known !== undefined) return word === word.toLowerCase() ? known : withStress(known);
  const parts = word.split(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/); // OpenAI
  const sounds = parts.map(async (part) => lexicon(part, use) ?? (await unknown(part)));
  return (await Promise.all(sounds)).join("");
}

/** Words whose sound depends on what follows. */
function smallWord(word: string, { tag, next, after }: Place, lexicon: Lexicon): string | undefined {
  const isBeforeVowel = next !== undefined && STARTS_WITH_VOWEL.test(next);
  const isSmall = word === word.toLowerCase() || word === capitalized(word);
  if (!isSmall) return undefined;
  switch (word.toLowerCase()) {
    case "a":
      return next === undefined || (word === "A" && after !== after?.toLowerCase()) ? undefined : "ɐ";
    case "an":
      return "ɐn";
    case "the":
      return isBeforeVowel ? "ði" : "ðə";
    case "to":
      return next === undefined ? undefined : isBeforeVowel ? "tʊ" : "tə";
    case "in":
      return tag === "IN" && next !== undefined ? "ɪn" : "ˈɪn";
    case "i":
      return "ˌI";
    case "used":
      return after === "to" ? lexicon(word, { tag: "VBD", isLast: false }) : undefined;
    case "am":
    case "of":
    case "at":
    case "for":
    case "from": {
      const sound = lexicon(word.toLowerCase(), { tag, isLast: next === undefined });
      return sound === undefined || next === undefined ? sound : unstressed(sound);
    }
    default:
      return undefined;
  }
}
