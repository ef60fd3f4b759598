// What a person sets for the answers of a chat, as flags of `svc run` or as slash commands: one check for both.

import type { Thinking } from "../../core/run.ts";
import type { SamplingParams } from "../../core/sampling.ts";

export const THINK_LEVELS = ["low", "medium", "high", "xhigh"] as const;

/** Choices at the start of a chat; the rest is as the model's defaults say. */
export interface ChatChoices {
  readonly sampling?: Partial<SamplingParams>;
  /** Most tokens of an answer. */
  readonly maxTokens?: number;
  readonly system?: string;
  readonly thinking?: Thinking;
}

/** Flags as typed. */
export interface ChoiceFlags {
  readonly temperature?: string;
  readonly topK?: string;
  readonly topP?: string;
  readonly maxTokens?: string;
  readonly system?: string;
  readonly think?: string;
}

const COUNT_MAX = 2 ** 31 - 1;
const isCount = (n: number): boolean => Number.isInteger(n) && n >= 0 && n <= COUNT_MAX;

/** A typed number. Throws a sentence that names the range. */
function numberOf(name: string, text: string, isGood: (n: number) => boolean, range: string): number {
  const value = text.trim() === "" ? NaN : Number(text);
  if (!isGood(value)) throw new Error(`${name} must be ${range}`);
  return value;
}

export const temperatureOf = (text: string, name = "N"): number =>
  numberOf(name, text, (n) => n >= 0 && n <= 2, "from 0 to 2");
export const topKOf = (text: string, name = "N"): number => numberOf(name, text, isCount, "whole, 0 or more");
export const topPOf = (text: string, name = "N"): number =>
  numberOf(name, text, (n) => n > 0 && n <= 1, "above 0, at most 1");
const maxTokensOf = (text: string, name: string): number =>
  numberOf(name, text, (n) => isCount(n) && n > 0, "whole, 1 or more");

/** What a level of thinking means. Throws for another word. */
export function thinkingOfLevel(level: string, name = "LEVEL"): Thinking {
  const effort = THINK_LEVELS.find((one) => one === level);
  if (effort === undefined && level !== "on" && level !== "off")
    throw new Error(`${name} must be on, off, ${THINK_LEVELS.join(", ")}`);
  return effort === undefined ? { enabled: level === "on" } : { enabled: true, effort };
}

/** The choices of flags. Throws a sentence for the first that is wrong. */
export function choicesOf({ temperature, topK, topP, maxTokens, system, think }: ChoiceFlags): ChatChoices {
  const sampling = {
    ...(temperature === undefined ? {} : { temperature: temperatureOf(temperature, "--temperature") }),
    ...(topK === undefined ? {} : { topK: topKOf(topK, "--top-k") }),
    ...(topP === undefined ? {} : { topP: topPOf(topP, "--top-p") }),
  };
  return {
    ...(Object.keys(sampling).length === 0 ? {} : { sampling }),
    ...(maxTokens === undefined ? {} : { maxTokens: maxTokensOf(maxTokens, "--max-tokens") }),
    ...(system === undefined ? {} : { system }),
    ...(think === undefined ? {} : { thinking: thinkingOfLevel(think, "--think") }),
  };
}
