// A backend without a model: tokens are bytes, and the next token is a function of what the slot holds. It checks every
// call the way a real cache would, so that a mistake of the engine fails loudly instead of producing odd text.

import { ServiceError } from "../../src/core/error.ts";
import type { Prompt } from "../../src/core/run.ts";
import type { SamplingParams } from "../../src/core/sampling.ts";
import type {
  Backend,
  BatchColumns,
  DecodeOutcome,
  OutputFormat,
  PendingPrompt,
  ReuseMode,
  RowLogprobs,
  SamplerHandle,
  SlotId,
} from "../../src/worker/backend.ts";
import { type AdapterId, BASE_MODEL } from "../../src/core/adapter.ts";

/** Ends the answer. */
export const EOG = 256;

const NO_MARKUP: OutputFormat = {
  thinkingStart: "",
  thinkingStartTokens: new Int32Array(),
  thinkingEnds: [],
  startsInReasoning: false,
  toolMarkers: [],
  toolMarkerTokens: new Int32Array(),
  toolGrammar: "none",
  callMarker: new Int32Array(),
  stops: [],
  visibleTokens: new Set(),
  markup: [],
};

export interface FakeOptions {
  readonly maxSeqs: number;
  /** Native sequences; more than maxSeqs leaves room for kept prefixes. */
  readonly slots: number;
  readonly reuse?: ReuseMode;
  readonly cells: number;
  readonly batch: number;
  readonly ubatch: number;
  readonly contextTokens: number;
  /** One in this many drawn tokens ends the answer. */
  readonly eogOneIn: number;
  /** Told before each decode; what it returns is the outcome of this step. */
  readonly outcome?: (step: number) => DecodeOutcome;
  /** Steps that a prompt takes to be rendered. */
  readonly renderSteps?: number;
}

/** A cell; slots that share it hold the same object. */
interface Cell {
  readonly token: number;
  readonly adapter: AdapterId;
}

/** FNV-1a over token ids. */
function hash(tokens: readonly number[]): number {
  let h = 0x811c9dc5;
  for (const token of tokens) h = Math.imul(h ^ token, 0x01000193);
  return h >>> 0;
}

export class FakeBackend implements Backend {
  readonly maxSeqs: number;
  readonly slots: number;
  readonly cells: number;
  readonly reuse: ReuseMode;
  readonly batch: number;
  readonly ubatch: number;
  readonly contextTokens: number;
  readonly vocabulary = 257;
  steps = 0;
  computedTokens = 0;
  openPrompts = 0;
  openSamplers = 0;
  largestStep = 0;
  selections = 0;
  private adapter: AdapterId = BASE_MODEL;
  private readonly options: FakeOptions;
  private readonly held = new Map<number, Cell[]>(); // slot → what the cache holds of it
  private lastRows: readonly number[] = []; // slot of each row of the last step

  constructor(options: FakeOptions) {
    this.options = options;
    this.maxSeqs = options.maxSeqs;
    this.slots = options.slots;
    this.reuse = options.reuse ?? "prefix";
    this.cells = options.cells;
    this.batch = options.batch;
    this.ubatch = options.ubatch;
    this.contextTokens = options.contextTokens;
  }

  /** Cells in use. */
  get usedCells(): number {
    return new Set([...this.held.values()].flat()).size;
  }

  render(prompt: Prompt): PendingPrompt {
    if (prompt.type !== "tokens")
      throw new ServiceError("invalid_request", "the fake backend takes token prompts");
    let left = this.options.renderSteps ?? 0;
    this.openPrompts++;
    return {
      take: () => {
        if (left-- > 0) return undefined;
        return {
          tokens: Int32Array.from(prompt.tokens),
          format: NO_MARKUP,
          plain: true,
          parse: () => undefined,
          free: () => void this.openPrompts--,
        };
      },
      free: () => void this.openPrompts--,
    };
  }

  selectAdapter(adapter: AdapterId): void {
    this.selections++;
    this.adapter = adapter;
  }

  decode(columns: BatchColumns, n: number): DecodeOutcome {
    this.steps++;
    this.largestStep = Math.max(this.largestStep, n);
    if (n < 1 || n > this.batch) throw new Error(`a step of ${n} rows, the batch holds ${this.batch}`);
    const forced = this.options.outcome?.(this.steps) ?? "done";
    if (forced === "full") return "full";
    if (this.usedCells + n > this.cells)
      throw new Error(`${this.usedCells} + ${n} cells, there are ${this.cells}`);
    this.lastRows = Array.from(columns.slot.subarray(0, n));
    for (let i = 0; i < n; i++) {
      const slot = columns.slot[i] ?? -1;
      if (slot < 0 || slot >= this.slots) throw new Error(`row ${i} has slot ${slot}`);
      const cells = this.held.get(slot) ?? [];
      if (columns.position[i] !== cells.length) {
        throw new Error(`slot ${slot}: position ${columns.position[i]} follows ${cells.length} tokens`);
      }
      const { adapter } = this;
      const alien = cells.find((cell) => cell.adapter !== adapter);
      if (alien !== undefined)
        throw new Error(`slot ${slot} of adapter ${alien.adapter} in a pass of adapter ${adapter}`);
      cells.push({ token: columns.token[i] ?? -1, adapter });
      this.held.set(slot, cells);
    }
    this.computedTokens += n;
    return forced;
  }

  sample(
    n: number,
    rows: Int32Array,
    samplers: BigUint64Array,
    _masks: BigUint64Array,
    tokens: Int32Array,
  ): void {
    for (let i = 0; i < n; i++) {
      if (samplers[i] === 0n) throw new Error("a row without a sampler");
      const cells = this.held.get(this.lastRows[rows[i] ?? -1] ?? -1) ?? [];
      tokens[i] = this.next(
        cells.map(({ token }) => token),
        this.adapter,
      );
    }
  }

  /** What follows these tokens: a lower-case letter, or the end. */
  next(tokens: readonly number[], adapter: AdapterId = BASE_MODEL): number {
    const h = hash(adapter === BASE_MODEL ? tokens : [...tokens, -adapter]);
    return h % this.options.eogOneIn === 0 ? EOG : 97 + ((h >>> 8) % 26);
  }

  cutSlot(slot: SlotId, from: number): boolean {
    const cells = this.held.get(slot) ?? [];
    if (from > 0 && this.reuse === "whole") return false;
    if (from === 0) this.held.delete(slot);
    else this.held.set(slot, cells.slice(0, from));
    return true;
  }

  shareSlot(source: SlotId, target: SlotId, length: number): void {
    if (this.reuse !== "prefix") throw new Error("this cache shares nothing");
    if (this.held.has(target)) throw new Error(`slot ${target} is not empty`);
    const cells = this.held.get(source) ?? [];
    if (cells.length < length) throw new Error(`slot ${source} holds ${cells.length} tokens, not ${length}`);
    this.held.set(target, cells.slice(0, length));
  }

  logprobs(_row: number, token: number, top: number): RowLogprobs {
    return {
      logprob: -1,
      top: Array.from({ length: top }, (_, i) => ({ token: token + i, logprob: -1 - i })),
    };
  }

  newSampler(_params: SamplingParams, _prompt: Int32Array, _seed: number, _choice: number): SamplerHandle {
    this.openSamplers++;
    return BigInt(this.openSamplers) as SamplerHandle;
  }

  freeSampler(): void {
    this.openSamplers--;
  }

  acceptForced(): void {}

  constrainTools(): boolean {
    return false;
  }

  tokenBytes(token: number): Uint8Array {
    return Uint8Array.of(token);
  }

  endsGeneration(token: number): boolean {
    return token === EOG;
  }
}

/** For engines whose requests have no constraints. */
export function noConstraints(): never {
  throw new Error("no constraint was expected");
}
