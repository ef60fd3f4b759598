// A grammar without texts: after each token the letters may come, and one token that tells the place from others.

import type { ConstraintBackend, Mask, Matcher } from "../../src/worker/text/constraint-backend.ts";
import { addToken } from "../../src/core/token-mask.ts";

/** Tokens of the fake backend, in words of 32. */
const WORDS = 9;
const MARKS_FROM = 128;
const MARKS = 96;

function newMask(): Mask {
  return { words: new Uint32Array(WORDS), address: 0n };
}

export class FakeGrammar implements ConstraintBackend {
  /** Masks that were computed before a pass. */
  looks = 0;
  private untoldMs = 0;
  private readonly maskMs: number;

  /** `maskMs`: time of a mask that the engine waits for; those of a batch are computed beside the pass. */
  constructor(maskMs: number) {
    this.maskMs = maskMs;
  }

  readonly newMask = newMask;

  compile(): { take: () => Matcher; free: () => void } {
    return { take: () => this.matcher(0), free: () => undefined };
  }

  masksBegin(matchers: readonly Matcher[]): void {
    const { looks, untoldMs } = this;
    for (const matcher of matchers) matcher.computeMask();
    Object.assign(this, { looks, untoldMs });
  }

  masksWait(): readonly Matcher[] {
    return [];
  }

  /** Milliseconds since the last call. */
  takeTime(): number {
    const ms = this.untoldMs;
    this.untoldMs = 0;
    return ms;
  }

  private matcher(after: number): Matcher {
    let last = after;
    const mask = newMask();
    return {
      mask,
      openMaskAddress: 0n,
      unenforced: [],
      feed: () => "ok",
      accept: (token) => {
        last = token;
        return "ok";
      },
      mayEnd: () => true,
      computeMask: ({ words } = mask) => {
        this.looks++;
        this.untoldMs += this.maskMs;
        words.fill(0);
        for (let letter = 97; letter < 123; letter++) addToken(words, letter);
        addToken(words, MARKS_FROM + (last % MARKS));
      },
      closing: () => undefined,
      clone: () => this.matcher(last),
      free: () => undefined,
    };
  }
}
