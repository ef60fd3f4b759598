// What a model wrote last time at a place of a grammar, as a branch predictor has it (Smith 1981): places with the same set of allowed
// tokens are one. A model that writes `": "` after one name writes it after the next, and the second answer to a schema repeats
// the layout of the first.

import { Recent } from "../../../core/recent.ts";

/** Places that are remembered; the least recently used is forgotten. */
const PLACES_MAX = 4096;
const SCORE_MAX = 3;
/** After a token that this many times in a row had no draft after it, none is tried; but each n-th time. */
const BARREN_MIN = 4;
const BARREN_PROBE = 64;

interface Habit {
  readonly token: number;
  /** Times in a row that the token came again, up to SCORE_MAX. */
  readonly score: number;
}

/** A place: hash of its mask. */
export type PlaceHash = number;

export class GrammarHabits {
  private readonly habits = new Recent<Habit, PlaceHash>(PLACES_MAX);
  private readonly barren = new Map<number, number>(); // by token: times that no draft was after it

  /** Whether a draft after a token is not worth looking for. */
  isBarren(token: number): boolean {
    const times = this.barren.get(token) ?? 0;
    if (times < BARREN_MIN) return false;
    this.barren.set(token, times + 1);
    return times % BARREN_PROBE !== 0;
  }

  /** A draft was looked for after a token. */
  looked(token: number, found: boolean): void {
    if (found) this.barren.delete(token);
    else this.barren.set(token, (this.barren.get(token) ?? 0) + 1);
  }

  /** The token that came last time; `isSure`: and the time before. */
  expected(place: PlaceHash): { readonly token: number; readonly isSure: boolean } | undefined {
    const habit = this.habits.find(place);
    return habit === undefined ? undefined : { token: habit.token, isSure: habit.score > 0 };
  }

  learn(place: PlaceHash, token: number): void {
    const habit = this.habits.find(place);
    if (habit?.token === token)
      this.habits.set(place, { token, score: Math.min(SCORE_MAX, habit.score + 1) });
    // A token that has held for long is given up after two misses.
    else if (habit !== undefined && habit.score > 1) this.habits.set(place, { ...habit, score: 1 });
    else this.habits.set(place, { token, score: 0 });
  }
}

export function placeHash(words: Uint32Array): PlaceHash {
  return Bun.hash.xxHash32(words);
}
