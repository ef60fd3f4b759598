// Completes a call that must be made before its tokens run out. A small model may write one argument until the cap, and half a call is
// worth nothing to a client that asked for one. Once the tokens left are little more than the way to the call's end takes, the answer goes
// that way: the text ends that the model is in, and what the grammar still requires follows. Each text on the way has a share of tokens.
// A call whose function is not written yet, or whose cap is too small for its end, is cut as others are.

import type { Closing, Matcher } from "./constraint-backend.ts";

/** Tokens that each text on the way may have. */
const TEXT_TOKENS = 8;
/** Tokens that one token of the answer may lengthen the way by. */
const SPARE = 8;
/** Tokens before the way from which on it is followed with each token. */
const WATCHED = 32;

/** The end of one answer. */
export class CallCloser {
  private way: Closing | undefined;
  private isOld = false; // the answer has not gone along the way
  private from = Infinity; // tokens left at the next look

  /** The token that must come next; undefined: any. `left`: tokens up to the cap, the last one included. Throws like `accept`. */
  next(matcher: Matcher, left: number): number | undefined {
    if (left > this.from) return undefined;
    if (this.isOld && !leads(this.way, matcher)) this.way = undefined;
    this.isOld = false;
    const way = (this.way ??= matcher.closing());
    const [first] = way ?? [];
    if (way === undefined || first === undefined || way.length > left) {
      this.leave(left >> 1);
      return undefined;
    }
    const goal = way.length + SPARE + TEXT_TOKENS * first.texts;
    if (left <= goal) return first.token;
    if (left > goal + WATCHED) this.leave(Math.max(goal + WATCHED, (left + goal) >> 1));
    return undefined;
  }

  /** A token of the answer. */
  take(token: number): void {
    if (this.way === undefined) return;
    if (this.way[0]?.token === token) this.way = this.way.slice(1);
    else this.isOld = true;
  }

  private leave(until: number): void {
    this.way = undefined;
    this.from = until;
  }
}

/** Whether a way that began elsewhere ends the answer from here, as it does from everywhere within a text. */
function leads(way: Closing | undefined, matcher: Matcher): boolean {
  const ahead = matcher.clone();
  try {
    return way !== undefined && way.every(({ token }) => ahead.accept(token) !== "rejected");
  } finally {
    ahead.free();
  }
}
