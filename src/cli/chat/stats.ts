// Tokens and speed of answers, as text.

import { promptPace } from "../../core/prompt-pace.ts";
import type { RunEvent, Timings, Usage } from "../../core/run.ts";

/** Measurements of one answer. */
export interface AnswerStats {
  readonly usage: Usage;
  readonly timings: Timings;
  /** Time to the first token, seconds; undefined for an empty answer. */
  readonly firstSecs: number | undefined;
}

/** `12 tokens · 45.3 tok/s · first after 0.21 s · prompt 30, 12 from the cache`. */
export function statsLine({ usage, timings, firstSecs }: AnswerStats): string {
  const parts = [count(usage.completionTokens)];
  if (timings.completionSecs > 0 && usage.completionTokens > 1)
    parts.push(`${rate((usage.completionTokens - 1) / timings.completionSecs)} tok/s`);
  if (firstSecs !== undefined) parts.push(`first after ${firstSecs.toFixed(2)} s`);
  const cached = usage.cachedTokens > 0 ? `, ${usage.cachedTokens} from the cache` : "";
  parts.push(`prompt ${usage.promptTokens}${cached}`);
  return parts.join(" · ");
}

/** `2 requests before this one`, or `reading 1,024 of 4,300 tokens, 51 a second, 64 s left`, at the pace so far. */
export function promptProgressText(event: Extract<RunEvent, { type: "prompt_progress" }>): string {
  const { total, processed, ahead } = event;
  if (ahead === 0) return "next in the queue";
  if (ahead !== undefined) return `${ahead} ${ahead === 1 ? "request" : "requests"} before this one`;
  const figures = `reading ${processed.toLocaleString("en")} of ${total.toLocaleString("en")} tokens`;
  const { perSec, secsLeft = 0 } = promptPace(event);
  if (perSec === undefined) return figures;
  const left = Math.ceil(secsLeft);
  return `${figures}, ${rate(perSec)} a second${left > 0 ? `, ${left} s left` : ""}`;
}

/** Totals of a chat. */
export class ChatStats {
  private answers = 0;
  private tokens = 0;
  private reasoning = 0;
  private prompt = 0;
  private cached = 0;
  private secs = 0;
  private last: AnswerStats | undefined;

  add(stats: AnswerStats): void {
    const { usage, timings } = stats;
    this.last = stats;
    this.answers++;
    this.tokens += usage.completionTokens;
    this.reasoning += usage.reasoningTokens;
    this.prompt += usage.promptTokens;
    this.cached += usage.cachedTokens;
    this.secs += timings.completionSecs;
  }

  /** Tokens of the conversation after the last answer; an estimate once questions were taken back. */
  conversationTokens(hasMessages: boolean): number {
    if (this.last === undefined || !hasMessages) return 0;
    return this.last.usage.promptTokens + this.last.usage.completionTokens;
  }

  /** Several lines; what `/stats` answers. */
  describe(): string {
    if (this.last === undefined) return "No answer yet.\n";
    const speed = this.secs > 0 ? `, ${rate((this.tokens - this.answers) / this.secs)} tok/s` : "";
    const answers = this.answers === 1 ? "1 answer" : `${this.answers} answers`;
    const reasoning = this.reasoning > 0 ? ` (${this.reasoning} of them reasoning)` : "";
    return [
      `last answer  ${statsLine(this.last)}`,
      `${answers.padEnd(12)} ${count(this.tokens)}${reasoning}${speed}`,
      `prompts      ${count(this.prompt)}, ${this.cached} from the cache`,
      "",
    ].join("\n");
  }
}

function count(tokens: number): string {
  return tokens === 1 ? "1 token" : `${tokens} tokens`;
}

function rate(perSecond: number): string {
  return perSecond >= 100 ? perSecond.toFixed(0) : perSecond.toFixed(1);
}
