// Word pieces of uncased BERT vocabularies: words as BERT's normalizer leaves them, and the longest pieces.

import { expect, test } from "bun:test";
import { bertWords, WordPieces } from "../../ffi/llama/bert-text.ts";
import { type Field } from "../../src/core/gguf.ts";
import { stringField, stringsField, u32Field } from "../../src/lora/gguf-write.ts";

test.each<[string, string, readonly string[]]>([
  ["English", "Don't stop, OK?", ["don", "'", "t", "stop", ",", "ok", "?"]],
  ["French", "L'été à l'École", ["l", "'", "ete", "a", "l", "'", "ecole"]],
  ["German", "Größe & Übermut", ["große", "&", "ubermut"]],
  ["Polish", "Zażółć Łódź", ["zazołc", "łodz"]],
  ["Turkish", "İstanbul'da ILIK", ["istanbul", "'", "da", "ilik"]],
  ["Vietnamese", "Tiếng Việt đẹp", ["tieng", "viet", "đep"]],
  ["Greek", "ΟΔΟΣ Γειά", ["οδοσ", "γεια"]],
  ["Russian", "Ёлка и Йод", ["елка", "и", "иод"]],
  ["Hebrew", "שָׁלוֹם", ["שלום"]],
  ["Arabic", "حالُكَ؟", ["حالك", "؟"]],
  ["Hindi", "हिन्दी भाषा", ["हिनदी", "भाषा"]],
  ["Bengali", "বাংলা", ["বাংলা"]],
  ["Tamil", "தமிழ்", ["தமிழ"]],
  ["Korean", "한국", ["\u1112\u1161\u11ab\u1100\u116e\u11a8"]],
  ["Japanese", "ガギ 東京", ["カキ", "東", "京"]],
  ["Chinese", "你好,世界!", ["你", "好", ",", "世", "界", "!"]],
  ["Georgian", "ქართული", ["ქართული"]],
  ["controls", "a\u200db\u0007c\td\u00ade", ["abc", "de"]],
  ["signs of ASCII", "a+b=$5|x^2", ["a", "+", "b", "=", "$", "5", "|", "x", "^", "2"]],
  ["nothing", " \n ", []],
])("%s", (_, text, words) => {
  expect([...bertWords(text)]).toEqual([...words]);
});

const TOKENS = [
  "[PAD]",
  "[UNK]",
  "[CLS]",
  "[SEP]",
  "▁walk",
  "ing",
  "ed",
  "▁w",
  "al",
  "k",
  "i",
  "▁,",
  "ा",
  "▁भ",
  "ष",
];

function fieldsOf(tokens: readonly string[], kind = "bert"): ReadonlyMap<string, Field> {
  const fields = [
    stringField("tokenizer.ggml.model", kind),
    stringsField("tokenizer.ggml.tokens", tokens),
    u32Field("tokenizer.ggml.unknown_token_id", 1),
    u32Field("tokenizer.ggml.bos_token_id", 2),
    u32Field("tokenizer.ggml.seperator_token_id", 3),
  ];
  return new Map(fields.map((field) => [field.key, field]));
}

test.each<[string, string, readonly string[]]>([
  ["the longest piece comes first", "Walking, walked", ["▁walk", "ing", "▁,", "▁walk", "ed"]],
  ["marks that take room are pieces", "भाषा", ["▁भ", "ा", "ष", "ा"]],
  ["a word with a rest is unknown as a whole", "walkx walk", ["[UNK]", "▁walk"]],
  ["a word of 100 characters", `w${"i".repeat(99)}`, ["▁w", ...Array.from({ length: 99 }, () => "i")]],
  ["a longer one", `w${"i".repeat(100)}`, ["[UNK]"]],
  ["marks of the vocabulary are text", "[SEP]", ["[UNK]", "[UNK]", "[UNK]"]],
  ["nothing", "", []],
])("%s", (_, text, pieces) => {
  const ids = WordPieces.of(fieldsOf(TOKENS))?.encode(text) ?? [];
  expect(ids.map((id) => TOKENS[id])).toEqual(["[CLS]", ...pieces, "[SEP]"]);
});

test("other vocabularies are llama.cpp's", () => {
  expect(WordPieces.of(fieldsOf([...TOKENS, "▁Walk"]))).toBeUndefined();
  expect(WordPieces.of(fieldsOf(TOKENS, "gpt2"))).toBeUndefined();
  expect(WordPieces.of(new Map())).toBeUndefined();
});
