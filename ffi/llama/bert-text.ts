// Tokens of texts for uncased vocabularies of word pieces, as BERT's own tokenizer makes them. llama.cpp's takes no syllables of Hangul
// apart, drops the vowels of Indian scripts that are spacing marks, keeps combining marks that the model never saw, and cuts words of any
// length into pieces: vectors of Korean and Hindi texts were others than those that the model was trained with.

import { assert } from "../../src/core/assert.ts";
import { type Field, stringsOf, textOf, unsigned } from "../../src/core/gguf.ts";

/** Characters of a word; a longer one is unknown as a whole (transformers: max_input_chars_per_word). */
const WORD_CHARS_MAX = 100;
/** What a token that begins a word begins with in the file. */
const BEGIN = "\u2581";
/** Characters of CJK, each of which is a word (transformers: _is_chinese_char). */
const CJK =
  "\\u{4E00}-\\u{9FFF}\\u{3400}-\\u{4DBF}\\u{20000}-\\u{2A6DF}\\u{2A700}-\\u{2B81F}\\u{2B920}-\\u{2CEAF}\\u{F900}-\\u{FAFF}\\u{2F800}-\\u{2FA1F}";
/** Punctuation as BERT counts it: with all signs of ASCII that are no letters and digits. */
const PUNCTUATION = "\\p{P}$+<=>^`|~";
const WORDS = new RegExp(`[${CJK}${PUNCTUATION}]|[^\\s${CJK}${PUNCTUATION}]+`, "gu");
const MARKS = /\p{Mn}/gu;
const CONTROLS = /[\p{C}\uFFFD](?<![\t\n\r])/gu;

/** A text without accents, controls and capital letters. */
export function bertText(text: string): string {
  const plain = text.replaceAll(CONTROLS, "").normalize("NFD").replaceAll(MARKS, "");
  return Array.from(plain, (sign) => sign.toLowerCase()).join(""); // by sign: a final sigma is none here
}

/** The words of a text. */
export function bertWords(text: string): readonly string[] {
  return bertText(text).match(WORDS) ?? [];
}

/** A vocabulary of word pieces. */
export class WordPieces {
  private readonly ids: ReadonlyMap<string, number>; // tokens that begin a word have BEGIN before them
  private readonly longest: number;
  private readonly special: { readonly begin: number; readonly end: number; readonly unknown: number };

  private constructor(tokens: readonly string[], special: WordPieces["special"]) {
    this.ids = new Map(tokens.map((token, id) => [token, id]));
    this.longest = Math.max(...tokens.map((token) => token.length));
    this.special = special;
  }

  /** The vocabulary of a file's metadata; undefined where it is of another kind, or has capital letters. */
  static of(fields: ReadonlyMap<string, Field>): WordPieces | undefined {
    const kind = fields.get("tokenizer.ggml.model");
    const list = fields.get("tokenizer.ggml.tokens");
    if (kind === undefined || list === undefined || textOf(kind) !== "bert") return undefined;
    const tokens = stringsOf(list)?.map((bytes) => Buffer.from(bytes, "latin1").toString());
    const id = (name: string): number | undefined => {
      const field = fields.get(`tokenizer.ggml.${name}_token_id`);
      return field && unsigned(field);
    };
    const [begin = id("cls"), end, unknown] = [id("bos"), id("seperator"), id("unknown")];
    if (tokens === undefined || begin === undefined || end === undefined || unknown === undefined)
      return undefined;
    const isCased = tokens.some((token) => /[A-Z]/.test(token) && !/^[[<].*[\]>]$/.test(token));
    return isCased ? undefined : new WordPieces(tokens, { begin, end, unknown });
  }

  /** The tokens of a text, between the marks of its beginning and end. */
  encode(text: string): readonly number[] {
    const { begin, end } = this.special;
    return [begin, ...bertWords(text).flatMap((word) => this.pieces(Array.from(word))), end];
  }

  /** The longest piece each time; a word with a rest that is none is unknown. */
  private pieces(word: readonly string[]): readonly number[] {
    const { unknown } = this.special;
    if (word.length > WORD_CHARS_MAX) return [unknown];
    const found: number[] = [];
    for (let at = 0; at < word.length;) {
      const next = this.longestAt(word, at);
      if (next === undefined) return [unknown];
      found.push(next.id);
      assert(next.end > at, "a piece has characters");
      at = next.end;
    }
    return found;
  }

  private longestAt(
    word: readonly string[],
    at: number,
  ): { readonly id: number; readonly end: number } | undefined {
    for (let end = Math.min(word.length, at + this.longest); end > at; end--) {
      const id = this.ids.get((at === 0 ? BEGIN : "") + word.slice(at, end).join(""));
      if (id !== undefined) return { id, end };
    }
    return undefined;
  }
}
