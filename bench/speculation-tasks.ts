// Requests of bench/speculation.ts, by model.

import { assert } from "../src/core/assert.ts";
import type { ModelName } from "./model.ts";
import { uniformSource } from "./random.ts";

/** A request of the completions or, with `messages`, of the chat route. */
export interface Task {
  readonly name: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Expected answer; a different one is an error. */
  readonly answer?: string;
  /** Repetitions per figure (their median), for answers of a few milliseconds; default 1. */
  readonly times?: number;
}

// The copier finds its position by the last four tokens. No four tokens of the file, and no three of the story, have two
// continuations, so it finds its position also after a changed word.

const FILE = `type Counts = [string, number][];

/** Words of a text, the most frequent first; words shorter than three letters are left out */
export function frequentWords(text: string, most: number): Counts {
  const counts = new Map<string, number>();
  for (const match of text.toLowerCase().matchAll(/[a-z]+/g)) {
    const [word] = match;
    if (word.length < 3) continue;
    counts.set(word, 1 + (counts.get(word) ?? 0));
  }
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  return sorted.slice(0, most);
}

/** One line for each word: how often it stands there, and its share in % */
export function report(counts: Counts): string {
  const total = counts.reduce((sum, [, often]) => sum + often, 0);
  const width = Math.max(...counts.map(([key]) => key.length));
  const lines: string[] = [];
  counts.forEach(([name, often]) => {
    const share = ((100 * often) / total).toFixed(1);
    lines.push(\`\${name.padEnd(width)} \${String(often).padStart(6)} \${share} %\`);
  });
  return lines.join("\\n");
}

if (import.meta.main) {
  const path = process.argv[2];
  if (path === undefined) throw new Error("usage: words FILE");
  const file = Bun.file(path);
  console.log(report(frequentWords(await file.text(), 20)));
}`;

const STORY =
  "Every autumn our small museum closes its doors for two weeks, so that clocks, paintings and old maps can be " +
  "cleaned. Visitors rarely see this part: six people in grey coats carry ladders through quiet rooms, open glass " +
  "cases with tiny keys, then write down whatever they find. A brass telescope needs new screws; moths have eaten " +
  "half of a royal carpet; somebody left chewing gum beneath the piano. Repairs that cost less than forty euros are " +
  "done at once, while larger ones go into a long list which the director reads aloud on Friday evening. Last year " +
  "she counted ninety entries, laughed, and bought cake. Volunteers from nearby schools help to dust about three " +
  "thousand books. They wear white gloves, learn how leather differs from linen, and sometimes discover letters " +
  "between pages: a recipe for plum jam, one angry note about rent, even pressed flowers. When everything stands " +
  "where it belongs again, lamps are tested, floors get their wax, and tickets become slightly more expensive.";

const CUE = "Every autumn our small museum";

/** Banned words and their replacements: of the candidates, the one whose token is most similar. */
const CHANGED = [
  { from: " weeks", fromToken: 5555, to: " bird", toToken: 11_958 },
  { from: " rooms", fromToken: 12_026, to: " river", toToken: 14_796 },
  { from: " screws", fromToken: 44_922, to: " song", toToken: 5492 },
  { from: " piano", fromToken: 26_278, to: " horse", toToken: 15_223 },
  { from: " director", fromToken: 7538, to: " night", toToken: 3729 },
  { from: " Friday", fromToken: 6602, to: " red", toToken: 2518 },
  { from: " cake", fromToken: 19_145, to: " bank", toToken: 6073 },
  { from: " books", fromToken: 6467, to: " tree", toToken: 4916 },
] as const;

/** A text, then its start in whole tokens: the answer is the rest. */
function copy(text: string, cue: string): Required<Pick<Task, "body" | "answer">> {
  assert(text.startsWith(cue), "the cue is the text's start");
  const body = { prompt: `${text}\n\n\n${cue}`, max_tokens: 400, temperature: 0, stop: "\n\n\n" };
  return { body, answer: text.slice(cue.length) };
}

/** The same with changed words. */
function edit(text: string, cue: string): Required<Pick<Task, "body" | "answer">> {
  const { body, answer } = copy(text, cue);
  const bias = CHANGED.flatMap(({ fromToken, toToken }) => [
    [fromToken, -100],
    [toToken, 30],
  ]);
  return {
    body: { ...body, logit_bias: Object.fromEntries(bias) },
    answer: CHANGED.reduce((all, { from, to }) => all.replace(from, to), answer),
  };
}

/** Words and their tokens with a leading space, in the same vocabulary. */
const WORDS: Readonly<Record<string, number>> = {
  one: 825,
  two: 1378,
  red: 2518,
  day: 1899,
  blue: 6303,
  green: 6176,
  night: 3729,
  house: 3753,
};

/**
 * Random words, and an answer restricted to them: the last three words nearly always occurred before, but seldom with the same
 * continuation, so most draft tokens are wrong.
 */
function shuffledWords(count: number): Task["body"] {
  const random = uniformSource(3);
  const words = Object.keys(WORDS);
  const text = Array.from({ length: count }, () => words[Math.floor(random() * words.length)]).join(" ");
  const bias = Object.values(WORDS).map((token) => [token, 100]);
  return { prompt: text, max_tokens: 200, temperature: 1, seed: 7, logit_bias: Object.fromEntries(bias) };
}

const COPIED =
  "the quick brown fox jumps over the lazy dog while seven small birds sing in the old green tree near the river bank and nobody hears them";

/** Tasks for the built-in model and any other. A story is the freest text of the built-in model. */
export const COMMON_TASKS: readonly Task[] = [
  {
    name: "copies its prompt",
    times: 9,
    body: {
      messages: [{ role: "user", content: `Repeat exactly: ${COPIED}` }],
      max_tokens: 200,
      temperature: 0,
    },
  },
  {
    name: "does not, temperature 1",
    times: 9,
    body: { prompt: "Once upon a time", max_tokens: 200, temperature: 1, seed: 7 },
  },
];

/** Tasks by model. */
export const TASKS: readonly { readonly model: ModelName | "copier"; readonly tasks: readonly Task[] }[] = [
  {
    model: "copier",
    tasks: [
      { name: "copies a source file", ...copy(FILE, "type Counts = [string,") },
      { name: "copies a story", ...copy(STORY, CUE) },
      { name: `copies it, ${CHANGED.length} words changed`, ...edit(STORY, CUE) },
    ],
  },
  {
    model: "qwen3-0.6b",
    tasks: [
      {
        name: "repeats nothing, temperature 1",
        body: { prompt: FILE, max_tokens: 200, temperature: 1, seed: 7 },
      },
      { name: "samples among 8 words, temperature 1", body: shuffledWords(800) },
    ],
  },
  { model: "builtin", tasks: COMMON_TASKS },
];
