// Sounds of English sentences, by a small dictionary.

import { describe, expect, test } from "bun:test";
import { lexiconOf } from "../../../src/worker/speech/lexicon.ts";
import { phonemesOf } from "../../../src/worker/speech/phonemes.ts";
import { taggerOf } from "../../../src/worker/speech/tagger.ts";

const LETTERS = { A: "ˈA", B: "bˈi", C: "sˈi", I: "ˈI", M: "ˈɛm", U: "jˈu", P: "pˈi" };
const gold = {
  ...LETTERS,
  apple: "ˈæpᵊl",
  box: "bˈɑks",
  cat: "kˈæt",
  city: "sˈɪti",
  dog: "dˈɔɡ",
  make: "mˈAk",
  open: "ˈOpᵊn",
  stop: "stˈɑp",
  they: "ðA",
  to: "tˈu",
  of: "ʌv",
  wait: "wˈAt",
  want: "wˈɑnt",
  read: { DEFAULT: "ɹˈid", VBD: "ɹˈɛd" },
  record: { DEFAULT: "ɹəkˈɔɹd", NOUN: "ɹˈɛkəɹd" },
  used: { DEFAULT: "jˈuzd", VBD: "jˈust" },
};
const weights = { "t-1=PRP": { VBD: 1 }, "t-1=DT": { NN: 1 }, "t-1=TO": { VB: 1 } };
const tagger = taggerOf({
  tags: ["NN", "VB", "VBD"],
  tagdict: { the: "DT", she: "PRP", to: "TO", "'d": "MD" },
  weights,
});

function sounds(text: string, isBritish = false): Promise<string> {
  const lexicon = lexiconOf({ gold, silver: { dough: "dˈO" }, isBritish });
  return phonemesOf(text, { lexicon, tagger, unknown: async (word) => `<${word}>` });
}

describe("a word", () => {
  for (const [text, said] of [
    ["cats boxes dogs cat's", "kˈæts bˈɑksᵻz dˈɔɡz kˈæts"],
    ["cities", "sˈɪtiz"],
    ["stopped, opened, waited, wanted", "stˈɑpt, ˈOpᵊnd, wˈATᵻd, wˈɑntᵻd"],
    ["making stopping waiting", "mˈAkɪŋ stˈɑpɪŋ wˈATɪŋ"],
    ["DOG Dog dough", "dˈɔɡ dˈɔɡ dˈO"],
    ["IBM CPUs IBM's", "ˌIbˌiˈɛm sˌipˌijˈuz ˌIbˌiˈɛmz"],
    ["cat-dog / dog", "kˈætdˈɔɡ slˈæʃ dˈɔɡ"],
    ["OpenABC", "ˈOpᵊnˌAbˌisˈi"],
    [
      "blorp constructor __proto__",
      "<blorp> <constructor> ˌʌndəɹskˈɔɹ ˌʌndəɹskˈɔɹ <proto> ˌʌndəɹskˈɔɹ ˌʌndəɹskˈɔɹ",
    ],
  ] as const)
    test(text, async () => expect(await sounds(text)).toBe(said));

  test("has its sounds by its accent", async () => {
    expect(await sounds("boxes waited", true)).toBe("bˈɑksɪz wˈAtɪd");
  });
});

describe("a sentence", () => {
  test("decides by parts of speech", async () => {
    expect(await sounds("she read. to read")).toBe("<she> ɹˈɛd. tə ɹˈid");
    expect(await sounds("the record to record")).toBe("ðə ɹˈɛkəɹd tə ɹəkˈɔɹd");
    expect(await sounds("she'd read")).toBe("<she'd> ɹˈid");
  });

  test("decides by what follows", async () => {
    expect(await sounds("the apple, the dog, a dog, to open, to stop, to.")).toBe(
      "ði ˈæpᵊl, ðə dˈɔɡ, ɐ dˈɔɡ, tʊ ˈOpᵊn, tə stˈɑp, tˈu.",
    );
    expect(await sounds("used to, used")).toBe("jˈust tˈu, jˈuzd");
  });

  test("has its marks, and stress on a capital word", async () => {
    expect(await sounds("They stop - they wait... (dog)!")).toBe("ðˌA stˈɑp — ðA wˈAt… (dˈɔɡ)!");
  });

  test("of nothing that is said has no sounds", async () => {
    for (const text of ["", " ", "'", "|", "~"]) expect(await sounds(text)).toBe("");
  });
});
