// Breaks loops within a constrained answer: a small model that must write an argument may write one syllable until the cap, because
// nothing but its own choice ends a string. Once the last tokens are the same few over and over, these are forbidden, once; the model ends
// the string instead, or writes something else. What it writes is often the next loop, so each one in an answer is noticed earlier, and from
// the second one on its tokens stay forbidden up to the next quote. Numbers may repeat themselves, and lists of strings for longer.

import { removeToken } from "../../core/token-mask.ts";

/** Longest repeated piece, tokens. */
const PERIOD_MAX = 40;
/** Pieces from this length on need half as many copies. */
const LONG_PERIOD = 9;

/** Copies and tokens that make a loop. */
interface Bound {
  readonly copies: number;
  readonly tokens: number;
}

/** Of the first, second … loop of an answer; later ones as the last. */
const BOUNDS: readonly Bound[] = [
  { copies: 8, tokens: 64 },
  { copies: 6, tokens: 32 },
  { copies: 4, tokens: 16 },
  { copies: 4, tokens: 8 },
];
const QUOTE = 0x22;
/** Of pieces with quotes. */
const STRINGS: Bound = { copies: 16, tokens: 128 };

/** The tokens of one answer. */
export class LoopBreaker {
  private readonly tokens: number[] = []; // the last ones, the newest last
  private readonly texts: Uint8Array[] = []; // their bytes
  private loops = 0; // so far
  private readonly banned = new Set<number>(); // up to the next quote
  private readonly same = new Uint32Array(PERIOD_MAX + 1); // by period: last tokens that equal the one a period before

  /** Adds a token of the answer. */
  add(token: number, bytes: Uint8Array): void {
    const { tokens, texts, same } = this;
    for (let period = 1; period <= PERIOD_MAX; period++)
      same[period] = tokens.at(-period) === token ? (same[period] ?? 0) + 1 : 0;
    if (bytes.includes(QUOTE)) this.banned.clear();
    tokens.push(token);
    texts.push(bytes);
    if (tokens.length > PERIOD_MAX) {
      tokens.shift();
      texts.shift();
    }
  }

  /** Forbids in a mask of allowed tokens those of a loop, as long as others remain. */
  forbid(mask: Uint32Array): void {
    const loop = this.loop();
    if (loop.length + this.banned.size === 0) return;
    if (loop.length > 0) this.loops++;
    const left = mask.slice();
    for (const token of [...loop, ...this.banned]) removeToken(left, token);
    if (left.some((bits) => bits !== 0)) mask.set(left);
    if (this.loops > 1) for (const token of loop) this.banned.add(token);
  }

  /** The tokens that would continue a loop; none without one. */
  private loop(): readonly number[] {
    const bound = BOUNDS[Math.min(this.loops, BOUNDS.length - 1)];
    const period = bound === undefined ? -1 : this.loopOf(bound);
    if (period < 1) return [];
    const piece = Buffer.concat(this.texts.slice(-period)).toString("latin1");
    if (isNumbers(piece)) return [];
    const tokens = this.tokens.slice(-period);
    if (!piece.includes('"')) return tokens;
    return this.loopOf(STRINGS) < 1 ? [] : tokens.slice(0, 1);
  }

  /** Tokens of the piece that the answer repeats at its end; below 1 without a loop. */
  private loopOf({ copies, tokens }: Bound): number {
    return this.same.findIndex((count, length) => {
      const least = length < LONG_PERIOD ? copies : copies / 2;
      return count + length >= Math.max(tokens, least * length);
    });
  }
}

/** Whether a repeated piece is numbers of a list, or their like: commas without words or strings. */
function isNumbers(text: string): boolean {
  return text.includes(",") && !/["a-z]/i.test(text.replaceAll(/true|false|null/g, ""));
}
