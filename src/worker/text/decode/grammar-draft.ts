// Drafts under a grammar. Much of a JSON text or of a tool call is dictated: names of members, quotes, colons, brackets. A token is
// drafted where all allowed tokens spell one text, or where the model wrote it at such a place before; a proposal of another source
// only where the grammar allows it. Each is sampled under the mask of its own place, so that an answer is the same as without drafts.

import { itemAt } from "../../../core/assert.ts";
import { countTokens, firstTokens, hasToken } from "../../../core/token-mask.ts";
import { type AnswerGuard, attempt } from "../answer-guard.ts";
import type { Backend } from "../backend.ts";
import type { EngineSequence } from "../choice.ts";
import type { ConstraintBackend, Mask, Matcher } from "../constraint-backend.ts";
import type { Partition } from "../partition.ts";
import { GrammarHabits, type PlaceHash, placeHash } from "./grammar-habits.ts";

/** Allowed tokens that are compared, so that a place with more of them is not looked at for long. */
const SPELLINGS_MAX = 24;
/** Share of the vocabulary that a mask of free text allows at least, and every n-th word of a mask that is looked at for it. */
const FREE_SHARE = 1 / 8;
const SAMPLED_WORDS = 8;
/** Letters, digits, white space, and all that is not ASCII: after them free text goes on. */
const WORD = /^[\p{L}\p{N}\s\u0080-\u{10ffff}]*$/u;

/** Tokens after the known ones; parallel arrays. */
export interface GuardedDraft {
  readonly tokens: Int32Array;
  /** [tokens] mask of the place after each, for the drafting step alone. */
  readonly masks: readonly Mask[];
  /** [tokens] whether the grammar dictates it; others are proposals of a source. */
  readonly dictated: readonly boolean[];
  /** [tokens + 1] the places of the tokens and of the one after them; undefined for free text. */
  readonly places: readonly (PlaceHash | undefined)[];
  /** The grammar refuses the token that the source proposed after them. */
  readonly isRefused: boolean;
}

export const NO_GUARDED_DRAFT: GuardedDraft = {
  tokens: new Int32Array(),
  masks: [],
  dictated: [],
  places: [],
  isRefused: false,
};

/** The first tokens of a draft. */
export function firstOf(draft: GuardedDraft, count: number): GuardedDraft {
  const { tokens, masks, dictated, places } = draft;
  return {
    tokens: tokens.subarray(0, count),
    masks: masks.slice(0, count),
    dictated: dictated.slice(0, count),
    places: places.slice(0, count + 1),
    isRefused: draft.isRefused && count === tokens.length,
  };
}

/** Most tokens of each kind. */
export interface DraftRoom {
  readonly dictated: number;
  readonly all: number;
}

interface Drafted {
  readonly token: number;
  readonly isDictated: boolean;
}

/** The place of a sequence's next token, when `known` tokens were. */
interface NextPlace {
  readonly place: PlaceHash | undefined;
  readonly known: number;
}

export class GrammarDrafts {
  private readonly backend: Pick<Backend, "tokenBytes">;
  private readonly constraints: () => ConstraintBackend;
  private readonly habits = new WeakMap<Partition, GrammarHabits>();
  private readonly nextPlaces = new WeakMap<AnswerGuard, NextPlace>();
  private readonly masks: Mask[] = []; // grows to the most drafts of a step
  private used = 0;
  private mayLook = true;
  /** Whether masks were computed for the drafts of this step. */
  looked = false;

  constructor(backend: Pick<Backend, "tokenBytes">, constraints: () => ConstraintBackend) {
    this.backend = backend;
    this.constraints = constraints;
  }

  /** A step begins: the masks of the last one are reused. `mayLook`: whether masks are computed for drafts. */
  begin(mayLook: boolean): void {
    this.used = 0;
    this.looked = false;
    this.mayLook = mayLook;
  }

  /** The draft of a sequence after the tokens that its guard has accepted. `proposal`: what may follow, cut where the grammar says otherwise. */
  draft(sequence: EngineSequence, guard: AnswerGuard, proposal: Int32Array, room: DraftRoom): GuardedDraft {
    const habits = this.habitsOf(sequence.partition);
    const last = sequence.tokenAt(sequence.known - 1);
    const isWriting = this.learnLast(last, sequence.known - 1, guard, habits);
    if (proposal.length === 0 && (isWriting || habits.isBarren(last))) return NO_GUARDED_DRAFT;
    const matcher = this.mayLook ? guard.matching() : undefined;
    if (matcher === undefined) return NO_GUARDED_DRAFT;
    this.looked = true;
    const place = placeOf(matcher.mask);
    this.nextPlaces.set(guard, { place, known: sequence.known });
    const first = this.next(matcher.mask, { place, habits, proposal: proposal[0], room });
    habits.looked(last, first !== undefined);
    if (first === undefined) return NO_GUARDED_DRAFT;
    let ahead: Matcher | undefined;
    if (attempt(() => (ahead = matcher.clone())) !== undefined || ahead === undefined)
      return NO_GUARDED_DRAFT;
    const draft = this.follow(ahead, first, { place, habits, proposal, room });
    ahead.free();
    return draft;
  }

  /** `accepted` tokens of a sequence's draft were, and `token` was sampled after them. */
  verified(sequence: EngineSequence, guard: AnswerGuard, draft: GuardedDraft, accepted: number): void {
    const habits = this.habitsOf(sequence.partition);
    draft.places.slice(0, accepted).forEach((place, i) => {
      if (place !== undefined) habits.learn(place, itemAt(draft.tokens, i));
    });
    // The token after them is learned when it is the last known one of the next draft.
    this.nextPlaces.set(guard, { place: draft.places[accepted], known: sequence.known - 1 });
  }

  /** Learns what the last token was at its place. Returns whether free text goes on, as far as it shows. */
  private learnLast(last: number, at: number, guard: AnswerGuard, habits: GrammarHabits): boolean {
    const before = this.nextPlaces.get(guard);
    if (before === undefined) return false;
    if (before.place === undefined)
      return WORD.test(Buffer.from(this.backend.tokenBytes(last, true)).toString());
    if (before.known === at) habits.learn(before.place, last);
    return false;
  }

  private habitsOf(partition: Partition): GrammarHabits {
    const habits = this.habits.get(partition) ?? new GrammarHabits();
    this.habits.set(partition, habits);
    return habits;
  }

  private follow(ahead: Matcher, first: Drafted, start: Start): GuardedDraft {
    const tokens: number[] = [];
    const masks: Mask[] = [];
    const dictated: boolean[] = [];
    const places = [start.place];
    let { proposal } = start;
    let isRefused = false;
    for (let drafted: Drafted | undefined = first; drafted !== undefined;) {
      const { token, isDictated } = drafted;
      const mask = this.maskAfter(ahead, token);
      if (mask === undefined) break;
      if (proposal[tokens.length] !== token) proposal = proposal.subarray(0, 0);
      tokens.push(token);
      masks.push(mask);
      dictated.push(isDictated);
      const place = placeOf(mask);
      places.push(place);
      const room = {
        dictated: start.room.dictated - dictated.filter(Boolean).length,
        all: start.room.all - tokens.length,
      };
      const proposed = proposal[tokens.length];
      drafted = this.next(mask, { place, habits: start.habits, proposal: proposed, room });
      isRefused = drafted === undefined && proposed !== undefined && room.all > 0;
    }
    return { tokens: Int32Array.from(tokens), masks, dictated, places, isRefused };
  }

  /** Advances by a token; undefined where the grammar ends or fails. */
  private maskAfter(ahead: Matcher, token: number): Mask | undefined {
    const mask = (this.masks[this.used] ??= this.constraints().newMask());
    let isOpen = false;
    const error = attempt(() => {
      isOpen = ahead.accept(token) !== "rejected";
      if (isOpen) ahead.computeMask(mask);
    });
    if (error !== undefined || !isOpen) return undefined;
    this.used++;
    return mask;
  }

  private next({ words }: Mask, { place, habits, proposal, room }: Place): Drafted | undefined {
    if (room.all <= 0) return undefined;
    const token = room.dictated > 0 && place !== undefined ? this.dictated(words, place, habits) : undefined;
    if (token !== undefined) return { token, isDictated: true };
    return proposal !== undefined && hasToken(words, proposal)
      ? { token: proposal, isDictated: false }
      : undefined;
  }

  private dictated(words: Uint32Array, place: PlaceHash, habits: GrammarHabits): number | undefined {
    const habit = habits.expected(place);
    const expected = habit !== undefined && hasToken(words, habit.token) ? habit : undefined;
    if (expected?.isSure === true) return expected.token;
    const forced = this.forcedToken(words);
    return forced === undefined ? undefined : (expected?.token ?? forced);
  }

  /** The longest allowed token where each other is a prefix of it: all spell one text. */
  private forcedToken(words: Uint32Array): number | undefined {
    const allowed = firstTokens(words, SPELLINGS_MAX + 1);
    if (allowed.length > SPELLINGS_MAX) return undefined;
    const texts = allowed.map((token) => ({
      token,
      text: Buffer.from(this.backend.tokenBytes(token, true)),
    }));
    const longest = texts.toSorted((a, b) => b.text.length - a.text.length)[0];
    const isOne = texts.every(
      ({ text }) => text.length > 0 && longest?.text.subarray(0, text.length).equals(text) === true,
    );
    return isOne ? longest?.token : undefined;
  }
}

/** Where a draft begins, and what may be in it. */
interface Start {
  readonly place: PlaceHash | undefined;
  readonly habits: GrammarHabits;
  readonly proposal: Int32Array;
  readonly room: DraftRoom;
}

interface Place extends Omit<Start, "proposal"> {
  readonly proposal: number | undefined;
}

/** Undefined for free text. */
function placeOf(mask: Mask): PlaceHash | undefined {
  return isFree(mask) ? undefined : placeHash(mask.words);
}

/** Whether a mask allows as many tokens as free text does. */
function isFree({ words }: Mask): boolean {
  return countTokens(words, SAMPLED_WORDS) > (words.length / SAMPLED_WORDS) * 32 * FREE_SHARE;
}
