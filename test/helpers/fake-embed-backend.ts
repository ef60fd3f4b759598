// An embedding context without a model. A token is a character's code; its vector tells the token, its place and what
// the slot held before it, so that a mistake in layout or pooling changes the result. It checks every call the way a real
// context would.

import type { BatchColumns, PendingPrompt, SlotId } from "../../src/worker/text/backend.ts";
import type { EmbedBackend, EmbedInput, Pooling } from "../../src/worker/text/embed-backend.ts";

export interface FakeEmbedOptions {
  readonly batch?: number;
  readonly slots?: number;
  readonly contextTokens?: number;
  readonly pooling?: Pooling;
  /** It scores: by what the slot holds after a decode; see expectedScore. */
  readonly ranks?: boolean;
  readonly causal?: boolean;
  /** Looks that it takes until a text is tokenized. */
  readonly looks?: number;
  /** Whether a decode succeeds, by its number from 0. */
  readonly succeeds?: (decode: number) => boolean;
}

const DIMENSIONS = 3;

/** The tokens of a text. */
export function codesOf(text: string): number[] {
  return Array.from(text, (character) => character.charCodeAt(0));
}

/** [tokens][dimensions] what the fake makes of tokens that are seen in this order. */
function tokenVectors(tokens: readonly number[]): number[][] {
  let before = 1;
  return tokens.map((token, place) => {
    before = (before * 31 + token) % 1009;
    return [token, place + 1, before];
  });
}

/** What an input's vector must be: pooled and of unit length. */
export function expectedVector(tokens: readonly number[], pooling: Pooling): Float32Array {
  const all = tokenVectors(tokens);
  const picked = pooling === "mean" ? all : [pooling === "cls" ? all[0] : all.at(-1)];
  const sum = Array.from({ length: DIMENSIONS }, (_, i) =>
    picked.reduce((total, vector) => total + (vector?.[i] ?? 0), 0),
  );
  return Float32Array.from(sum, (value) => value / Math.hypot(...sum));
}

/** The score of a sequence of tokens. */
export function expectedScore(tokens: readonly number[]): number {
  return (tokenVectors(tokens).at(-1)?.[2] ?? 0) / 1009;
}

function tokensOfInput(input: EmbedInput): readonly number[] {
  if (typeof input === "string") return codesOf(input);
  return "query" in input ? codesOf(input.query + input.document) : input;
}

export class FakeEmbedBackend implements EmbedBackend {
  readonly batch: number;
  readonly contextTokens: number;
  readonly slots: number;
  readonly dimensions: number;
  readonly pooling: Pooling;
  readonly ranks: boolean;
  readonly causal: boolean;
  /** Rows of each decode so far, and the slots that they were in. */
  readonly decodes: { readonly rows: number; readonly slots: number }[] = [];
  /** Texts that are being tokenized. */
  openPrompts = 0;
  private readonly options: FakeEmbedOptions;
  private readonly held = new Map<number, number[]>(); // slot → tokens in the cache
  private rows: number[][] = []; // vectors of the last decode

  constructor(options: FakeEmbedOptions = {}) {
    this.batch = options.batch ?? 16;
    this.contextTokens = options.contextTokens ?? 64;
    this.slots = options.slots ?? 4;
    this.pooling = options.pooling ?? "mean";
    this.ranks = options.ranks ?? false;
    this.dimensions = this.ranks ? 1 : DIMENSIONS;
    this.causal = options.causal ?? true;
    this.options = options;
  }

  /** Slots that hold something. */
  get usedSlots(): number {
    return this.held.size;
  }

  tokenize(input: EmbedInput): PendingPrompt {
    const tokens = Int32Array.from(tokensOfInput(input));
    let looks = this.options.looks ?? 0;
    let open = true;
    this.openPrompts++;
    const free = (): void => {
      if (!open) throw new Error("freed twice");
      open = false;
      this.openPrompts--;
    };
    const prompt = { tokens, plain: true, parse: () => undefined, free };
    const take = () => (looks-- > 0 ? undefined : prompt);
    return { long: false, take: take as PendingPrompt["take"], free }; // a text to embed has no format
  }

  decode({ token, position, slot, output }: BatchColumns, n: number): boolean {
    if (n < 1 || n > this.batch) throw new Error(`a batch of ${n} rows, there is room for ${this.batch}`);
    const now = this.decodes.length;
    this.decodes.push({ rows: n, slots: new Set(slot.subarray(0, n)).size });
    this.rows = [];
    for (let row = 0; row < n; row++) {
      const at = slot[row] ?? -1;
      if (at < 0 || at >= this.slots) throw new Error(`row ${row} has slot ${at}`);
      if (output[row] !== 1) throw new Error(`row ${row} gives no embedding`);
      const tokens = this.held.get(at) ?? [];
      if (position[row] !== tokens.length) {
        throw new Error(`slot ${at}: position ${position[row]} follows ${tokens.length} tokens`);
      }
      tokens.push(token[row] ?? -1);
      this.held.set(at, tokens);
      this.rows.push(tokenVectors(tokens).at(-1) ?? []);
    }
    return this.options.succeeds?.(now) ?? true;
  }

  addRows(rows: Int32Array, sum: Float32Array): void {
    for (const row of rows) {
      const vector = this.rows[row];
      if (vector === undefined) throw new Error(`row ${row} is none of the ${this.rows.length} of the batch`);
      for (let i = 0; i < DIMENSIONS; i++) sum[i] = (sum[i] ?? 0) + (vector[i] ?? 0);
    }
  }

  score(slot: SlotId): number {
    return expectedScore(this.held.get(slot) ?? []);
  }

  clearSlot(slot: SlotId): void {
    this.held.delete(slot);
  }
}
