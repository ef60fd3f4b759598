// The words with which a chat template takes an effort of reasoning: found out by rendering a short conversation with each word that
// templates are known to use. A template that prints any word takes the three with which such models are trained.

import type { Thinking } from "../../src/core/run.ts";

/** Words of templates, the lowest effort first. */
const WORDS = ["none", "off", "no_think", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
type Word = (typeof WORDS)[number];

const TRAINED: readonly Word[] = ["low", "medium", "high"];
const NAMED = new RegExp(`effort[^a-z0-9]{1,6}(${WORDS.join("|")})\\b`, "i");
const UNKNOWN = "qqeffort"; // a word that no template compares with

/** Inputs of a template for an effort: it reads one of these names. Spec: Reasoning rules, 4. */
export function effortFields(word: string | undefined): Readonly<Record<string, string>> {
  return word === undefined
    ? {}
    : { reasoning_effort: word, reasoning_strength: word, thinking_effort: word };
}

/** The prompt of a short conversation; undefined if the template refuses it. `word` undefined: without an effort. */
export type RenderEffort = (word: string | undefined) => string | undefined;

/** What a template makes of efforts. `others`: words that it does not know mean one that it names, have an effect, or are refused. */
interface Known {
  readonly words: readonly Word[];
  readonly others: boolean;
}

export class Efforts {
  private readonly render: RenderEffort;
  private known: Known | undefined; // found out with the first request that needs it

  constructor(render: RenderEffort) {
    this.render = render;
  }

  /** Whether no effort changes what the template renders. */
  get areIgnored(): boolean {
    this.known ??= this.find();
    return this.known.words.length === 0 && !this.known.others;
  }

  /** The word for the template; undefined: no word, which leaves the effort to the template. */
  wordOf({ enabled, effort }: Thinking): string | undefined {
    if (enabled && effort === undefined) return undefined;
    this.known ??= this.find();
    const { words, others } = this.known;
    if (!enabled) return words.find((word) => others || rank(word) <= rank("low"));
    const asked = effort ?? "medium";
    if (words.includes(asked)) return asked;
    if (asked === "xhigh") return words.findLast((word) => rank(word) >= rank("high")) ?? asked;
    return others ? nearest(words, asked) : asked;
  }

  private find(): Known {
    const [unknown, unsaid] = [this.render(UNKNOWN), this.render(undefined)];
    const named = NAMED.exec(unsaid ?? "")?.[1]?.toLowerCase(); // what the template says where a request does not
    const words = WORDS.filter((word) => word === named || this.isKnown(word, unknown));
    const printed = unknown?.includes(UNKNOWN) === true && words.every((word) => word === named);
    return { words: printed ? TRAINED : words, others: unknown !== unsaid || named !== undefined };
  }

  /** Whether the template treats a word differently from one that it does not know. */
  private isKnown(word: Word, unknown: string | undefined): boolean {
    const prompt = this.render(word);
    return prompt !== undefined && prompt !== unknown?.replaceAll(UNKNOWN, word);
  }
}

function rank(word: Word): number {
  return WORDS.indexOf(word);
}

/** The higher one of two that are equally near. */
function nearest(words: readonly Word[], asked: Word): Word {
  const distance = (word: Word): number => Math.abs(rank(word) - rank(asked));
  return words.toSorted((a, b) => distance(a) - distance(b) || rank(b) - rank(a))[0] ?? asked;
}
