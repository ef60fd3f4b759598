// How single English words are pronounced: a dictionary, and the rules for the endings of words that it lacks. Sounds are written in
// the alphabet of the voice, one character each: mostly IPA, with capitals for diphthongs and ˈ ˌ for stress.

/** Pronunciation of a word, or one for each part of speech. */
export type Entry = string | Readonly<Record<string, string | null>>;

/** Dictionaries: the first one counts, the second one has what it lacks. */
export interface Dictionaries {
  readonly gold: Readonly<Record<string, Entry>>;
  readonly silver: Readonly<Record<string, Entry>>;
  readonly isBritish: boolean;
}

/** What decides between pronunciations of a word. */
export interface WordUse {
  /** Part of speech (Penn Treebank). */
  readonly tag: string;
  /** A pause follows. */
  readonly isLast: boolean;
}

/** The pronunciation of a word; undefined where the dictionary and its rules do not have it. */
export type Lexicon = (word: string, use: WordUse) => string | undefined;

const VOWEL_BEFORE_FLAP = /[AIOWYiuæɑəɛɪɹʊʌ]$/;
const STRESS = /[ˈˌ]/g;
const VOWEL = /[AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻɐ]/;

/** Makes a lexicon of its dictionaries. */
export function lexiconOf(dictionaries: Dictionaries): Lexicon {
  const whole = (word: string, use: WordUse): string | undefined =>
    [word, word.toLowerCase(), capitalized(word)]
      .map((form) => soundOf(own(dictionaries.gold, form) ?? own(dictionaries.silver, form), use))
      .find((sound) => sound !== undefined);
  const known = (stems: readonly string[], use: WordUse): string | undefined =>
    stems
      .filter((stem) => stem.length > 1)
      .map((stem) => whole(stem, use))
      .find((sound) => sound !== undefined);
  const inflected = (word: string, use: WordUse): string | undefined => {
    for (const { ending, stems, add } of ENDINGS) {
      if (!ending.test(word)) continue;
      const stem = known(stems(word), use);
      if (stem !== undefined) return add(stem, dictionaries.isBritish);
    }
    return undefined;
  };
  const spelled = (word: string): string | undefined => {
    const letters = word.split("").map((letter) => soundOf(own(dictionaries.gold, letter.toUpperCase())));
    return letters.includes(undefined) ? undefined : stressedLast(letters.join(""));
  };
  const read: Lexicon = (word, use) => {
    if (word.length === 1) return spelled(word);
    const exact = soundOf(own(dictionaries.gold, word), use);
    if (exact !== undefined) return exact;
    if (isAcronym(word)) {
      const isKnown = word.length > 3 || own(dictionaries.gold, word.toLowerCase()) !== undefined;
      const isName = own(dictionaries.gold, word) !== undefined; // without a sound as this part of speech: US, IT
      const asWord =
        isKnown && !isName ? (whole(word, use) ?? inflected(word.toLowerCase(), use)) : undefined;
      return asWord ?? (word.length > 5 ? undefined : spelled(word));
    }
    const [, letters] = /^([A-Z]{2,5})'?s$/.exec(word) ?? [];
    if (letters !== undefined) return plus(read(letters, use), dictionaries.isBritish);
    return whole(word, use) ?? inflected(word.toLowerCase(), use);
  };
  return read;
}

function own(dictionary: Readonly<Record<string, Entry>>, word: string): Entry | undefined {
  return Object.hasOwn(dictionary, word) ? dictionary[word] : undefined;
}

/** `Word` for `wORD`. */
export function capitalized(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase();
}

function isAcronym(word: string): boolean {
  return /^[A-Z]{2,}$/.test(word);
}

/** The pronunciation that an entry has for a use. */
function soundOf(entry: Entry | undefined, use?: WordUse): string | undefined {
  if (entry === undefined || typeof entry === "string") return entry;
  const tag = use?.tag ?? "";
  const keys = [...(use?.isLast === true ? ["None"] : []), tag, classOf(tag)];
  const key = keys.find((one) => Object.hasOwn(entry, one)) ?? "DEFAULT";
  return entry[key] ?? undefined;
}

function classOf(tag: string): string {
  const classes = { VB: "VERB", NN: "NOUN", RB: "ADV", JJ: "ADJ" };
  return Object.entries(classes).find(([start]) => tag.startsWith(start))?.[1] ?? tag;
}

/** Letters are said with the main stress on the last one. */
function stressedLast(letters: string): string {
  const weak = letters.replaceAll("ˈ", "ˌ");
  const last = weak.lastIndexOf("ˌ");
  return last < 0 ? weak : `${weak.slice(0, last)}ˈ${weak.slice(last + 1)}`;
}

/** The plural and third person: s, z, or a syllable of its own. */
function plus(stem: string | undefined, isBritish: boolean): string | undefined {
  if (stem === undefined) return undefined;
  if (/[szʃʒʧʤ]$/.test(stem)) return `${stem}${isBritish ? "ɪ" : "ᵻ"}z`;
  return stem + (/[ptkfθ]$/.test(stem) ? "s" : "z");
}

function past(stem: string, isBritish: boolean): string {
  if (!/[td]$/.test(stem)) return stem + (/[pkfθʃsʧ]$/.test(stem) ? "t" : "d");
  return `${flapped(stem, isBritish)}${isBritish ? "ɪ" : "ᵻ"}d`;
}

/** American speakers voice a t between vowels. */
function flapped(stem: string, isBritish: boolean): string {
  const before = stem.slice(0, -1);
  return !isBritish && stem.endsWith("t") && VOWEL_BEFORE_FLAP.test(before) ? `${before}T` : stem;
}

interface Ending {
  readonly ending: RegExp;
  /** Words that the word may be a form of, likeliest first. */
  readonly stems: (word: string) => readonly string[];
  readonly add: (stem: string, isBritish: boolean) => string | undefined;
}

/** Without a doubled consonant at the end. */
function undoubled(stem: string): readonly string[] {
  return /([bdgklmnprtvz])\1$/.test(stem) ? [stem.slice(0, -1)] : [];
}

const ENDINGS: readonly Ending[] = [
  { ending: /'s$/, stems: (word) => [word.slice(0, -2)], add: plus },
  { ending: /s'$/, stems: (word) => [word.slice(0, -1)], add: (stem) => stem },
  { ending: /s'$/, stems: (word) => [word.slice(0, -2)], add: plus },
  { ending: /ies$/, stems: (word) => [`${word.slice(0, -3)}y`], add: plus },
  {
    ending: /[^s]s$/,
    stems: (word) => [word.slice(0, -1), ...(word.endsWith("es") ? [word.slice(0, -2)] : [])],
    add: plus,
  },
  { ending: /ied$/, stems: (word) => [`${word.slice(0, -3)}y`], add: past },
  {
    ending: /ed$/,
    stems: (word) => [word.slice(0, -1), word.slice(0, -2), ...undoubled(word.slice(0, -2))],
    add: past,
  },
  {
    ending: /ing$/,
    stems: (word) => [word.slice(0, -3), `${word.slice(0, -3)}e`, ...undoubled(word.slice(0, -3))],
    add: (stem, isBritish) => `${flapped(stem, isBritish)}ɪŋ`,
  },
  { ending: /ly$/, stems: (word) => [word.slice(0, -2)], add: (stem) => `${stem}li` },
  { ending: /ness$/, stems: (word) => [word.slice(0, -4)], add: (stem) => `${stem}nəs` },
  { ending: /less$/, stems: (word) => [word.slice(0, -4)], add: (stem) => `${stem}ləs` },
];

/** With some stress, as words in capitals have it, at the beginning of a sentence, too. */
export function withStress(sound: string): string {
  return sound.search(STRESS) < 0 ? sound.replace(VOWEL, "ˌ$&") : sound;
}

/** Without any stress, as small words are said within a sentence. */
export function unstressed(sound: string): string {
  return sound.replace(STRESS, "");
}
