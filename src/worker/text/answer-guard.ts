// Enforces a grammar on one choice's answer. The content must match; reasoning before it and tool calls instead of it are
// free, so their first tokens are allowed besides where they may begin.

import { unreachable } from "../../core/assert.ts";
import { type ErrorData, ServiceError } from "../../core/error.ts";
import { addToken } from "../../core/token-mask.ts";
import type { OutputFormat } from "./backend.ts";
import type { CallCloser } from "./call-closer.ts";
import type { Matcher } from "./constraint-backend.ts";
import { LoopBreaker } from "./loop-breaker.ts";

/**
 * opening: the answer or, after reasoning, its content begins; grammar and escapes are allowed. reasoning: free, except that
 * the answer must not end. matching: the grammar applies. off: a tool call began instead.
 */
type Phase = "opening" | "reasoning" | "matching" | "off";

/** First tokens that are allowed besides the grammar. */
export interface Escapes {
  /** Token that opens reasoning, if the model may reason. */
  readonly reasoning: number | undefined;
  /** First token of a tool call, if the model may call tools. */
  readonly tools: number | undefined;
}

/** The escapes of a format. A marker of several tokens escapes by its first. */
export function escapesOf(format: OutputFormat, mayReason: boolean, mayCall: boolean): Escapes {
  const [think] = format.thinkingStartTokens;
  const single = format.thinkingStartTokens.length === 1;
  return {
    reasoning: mayReason && single ? think : undefined,
    tools: mayCall ? format.toolMarkerTokens[0] : undefined,
  };
}

export const NO_ESCAPES: Escapes = { reasoning: undefined, tools: undefined };

/** The answer has left its grammar. */
export const OUTSIDE_GRAMMAR: ErrorData = {
  code: "engine_failed",
  message: "the answer does not match its grammar; send the request again",
};

export class AnswerGuard {
  private readonly matcher: Matcher;
  private readonly escapes: Escapes;
  private readonly loop = new LoopBreaker();
  private readonly closer: CallCloser | undefined;
  private phase: Phase;
  private reasoned = false;
  private isCurrent = false; // the matcher's mask

  /** `phase`: at the answer's first token. `closer`: of an answer that must be a call. */
  constructor(matcher: Matcher, escapes: Escapes, phase: Exclude<Phase, "off">, closer?: CallCloser) {
    this.matcher = matcher;
    this.closer = closer;
    this.escapes = escapes;
    this.phase = phase;
  }

  /** The matcher whose mask the next token needs; undefined for a free token, and where the mask is computed. */
  get active(): Matcher | undefined {
    const isMasked = this.phase === "opening" || this.phase === "matching";
    return isMasked && !this.isCurrent ? this.matcher : undefined;
  }

  /** Whether the next tokens are free of grammars until a tool call begins. */
  get isOff(): boolean {
    return this.phase === "off";
  }

  /** Whether more than the grammar decides what comes next: no draft is made there. */
  get isMixed(): boolean {
    return this.phase === "opening" || this.phase === "reasoning";
  }

  /** Whether the grammar alone decides what comes next. */
  get isMatching(): boolean {
    return this.phase === "matching";
  }

  /** The matcher, with the mask of the next token computed; undefined where the grammar does not apply alone, or fails. */
  matching(): Matcher | undefined {
    if (this.phase !== "matching") return undefined;
    if (!this.isCurrent && attempt(() => this.matcher.computeMask()) !== undefined) return undefined;
    this.isCurrent = true;
    return this.matcher;
  }

  /**
   * Address of the mask for the next token, 0 for a free one. The mask must have been computed. `left`: tokens up to the cap,
   * once a call has begun. `mask`: where it was computed.
   */
  maskAddress(left: number | undefined, mask = this.matcher.mask): bigint {
    if (this.phase === "reasoning") return this.matcher.openMaskAddress;
    if (this.phase === "off") return 0n;
    if (this.phase === "opening") {
      const { reasoning, tools } = this.escapes;
      if (reasoning !== undefined && !this.reasoned) addToken(mask.words, reasoning);
      if (tools !== undefined) addToken(mask.words, tools);
    }
    if (this.phase === "matching") this.narrow(mask.words, left);
    return mask.address;
  }

  private narrow(words: Uint32Array, left: number | undefined): void {
    this.loop.forbid(words);
    const { closer, matcher } = this;
    if (closer === undefined || left === undefined) return;
    let next: number | undefined;
    const error = attempt(() => (next = closer.next(matcher, left)));
    if (error === undefined && next !== undefined) addToken(words.fill(0), next);
  }

  /** Advances by the sampled token. `answering`: any reasoning has ended. Returns the error of a mismatch. */
  accept(token: number, bytes: Uint8Array, answering: boolean): ErrorData | undefined {
    this.isCurrent = false;
    switch (this.phase) {
      case "off":
        return undefined;
      case "reasoning":
        this.reasoned = true;
        if (answering) this.phase = "opening";
        return undefined;
      case "opening":
        if (token === this.escapes.reasoning && !this.reasoned) this.phase = "reasoning";
        else if (token === this.escapes.tools) this.phase = "off";
        else this.phase = "matching";
        return this.phase === "matching" ? this.match(token, bytes) : undefined;
      case "matching":
        return this.match(token, bytes);
      default:
        return unreachable(this.phase);
    }
  }

  /** Whether the answer may end after a token that was sampled and not accepted yet. */
  mayEndWith(token: number): boolean {
    if (this.phase !== "matching") return true;
    const ahead = this.matcher.clone();
    let mayEnd = false;
    attempt(() => (mayEnd = ahead.accept(token) !== "rejected" && ahead.mayEnd()));
    ahead.free();
    return mayEnd;
  }

  /** Whether the grammar, where it applies, takes these tokens next. */
  mayGoOnWith(tokens: Int32Array): boolean {
    if (this.phase !== "matching") return true;
    const ahead = this.matcher.clone();
    let taken = false;
    attempt(() => (taken = tokens.every((token) => ahead.accept(token) !== "rejected")));
    ahead.free();
    return taken;
  }

  /** The grammar's error when no token could be sampled; undefined if the grammar is not the cause. */
  failure(): ErrorData | undefined {
    return attempt(() => void this.matcher.mayEnd());
  }

  private match(token: number, bytes: Uint8Array): ErrorData | undefined {
    this.loop.add(token, bytes);
    this.closer?.take(token);
    let rejected = false;
    const error = attempt(() => (rejected = this.matcher.accept(token) === "rejected"));
    return error ?? (rejected ? OUTSIDE_GRAMMAR : undefined);
  }

  free(): void {
    this.matcher.free();
  }
}

/** Runs a step of the grammar; returns the ServiceError that it throws. */
export function attempt(step: () => void): ErrorData | undefined {
  try {
    step();
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return error.toData();
    throw error;
  }
}
