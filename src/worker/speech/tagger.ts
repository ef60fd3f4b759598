// Parts of speech by an averaged perceptron: the sum of weights of a word's features decides. The features are those that the
// voice's model was trained with.

/** A trained tagger, as its file has it. */
export interface TaggerModel {
  readonly tags: readonly string[];
  /** Words that nearly always have one tag. */
  readonly tagdict: Readonly<Record<string, string>>;
  /** Words that features name; others are known by their shape. */
  readonly vocab?: readonly string[];
  /** Weights of tags by feature. */
  readonly weights: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const LETTERS = /^\p{L}+$/u;
const DIGITS = /^\d+$/;

/** Tags of a sentence's words (Penn Treebank). */
export type Tagger = (words: readonly string[]) => readonly string[];

/** Makes a tagger of its model. */
export function taggerOf({ tags, tagdict, vocab, weights }: TaggerModel): Tagger {
  const known = vocab === undefined ? undefined : new Set(vocab);
  const best = (features: readonly string[]): string => {
    const scores = new Map<string, number>();
    for (const feature of features) {
      for (const [tag, weight] of Object.entries(weights[feature] ?? {}))
        scores.set(tag, (scores.get(tag) ?? 0) + weight);
    }
    if (scores.size === 0) return "NN";
    const score = (tag: string): number => scores.get(tag) ?? 0;
    return tags.reduce((a, b) => (score(b) > score(a) || (score(b) === score(a) && b > a) ? b : a));
  };
  return (words) => {
    const seen = words.map((word) => {
      const plain = normal(word);
      return known === undefined || known.has(plain) ? plain : `<${shape(word)}>`;
    });
    const around = ["-START2-", "-START-", ...seen, "-END-", "-END2-"];
    const found: string[] = [];
    words.forEach((word, at) => {
      const [before, last] = [found.at(-2) ?? (at === 1 ? "-START-" : "-START2-"), found.at(-1) ?? "-START-"];
      found.push(tagdict[word] ?? best(featuresOf(word, at, around, [before, last])));
    });
    return found;
  };
}

function featuresOf(
  word: string,
  at: number,
  around: readonly string[],
  [before, last]: readonly [string, string],
): readonly string[] {
  const [w2 = "", w1 = "", own = "", n1 = "", n2 = ""] = around.slice(at, at + 5);
  return [
    "b",
    `s3=${word.slice(-3)}`,
    `p1=${word.slice(0, 1)}`,
    `w=${own}`,
    `sh=${shape(word)}`,
    at === 0 ? "i0" : "i+",
    `t-1=${last}`,
    `t-2=${before}`,
    `t-12=${last},${before}`,
    `w-1=${w1}`,
    `s3-1=${w1.slice(-3)}`,
    `w-2=${w2}`,
    `w+1=${n1}`,
    `s3+1=${n1.slice(-3)}`,
    `w+2=${n2}`,
  ];
}

function normal(word: string): string {
  if (word.indexOf("-") > 0) return "!HYPHEN";
  if (DIGITS.test(word)) return word.length === 4 ? "!YEAR" : "!DIGITS";
  return word.toLowerCase();
}

function shape(word: string): string {
  if (DIGITS.test(word)) return "d";
  if (!LETTERS.test(word)) return word.slice(0, 4).replace(/\p{L}/gu, "x").replace(/\d/g, "d");
  if (word === word.toLowerCase()) return "x";
  if (word === word.toUpperCase()) return word.length > 1 ? "XX" : "X1";
  return /^\p{Lu}\p{Ll}+$/u.test(word) ? "Xx" : "xX";
}
