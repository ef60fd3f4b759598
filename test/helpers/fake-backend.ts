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
  SamplerHandle,
  SlotId,
} from "../../src/worker/backend.ts";

/** Ends the answer. */
export const EOG = 256;

const NO_MARKUP: OutputFormat = {
  thinkingStart: "",
  thinkingEnds: [],
  toolMarkers: [],
  stops: [],
  visibleTokens: new Set(),
  markup: [],
};

export interface FakeOptions {
  readonly slots: number;
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

/** FNV-1a over token ids. */
function hash(tokens: readonly number[]): number {
  let h = 0x811c9dc5;
  for (const token of tokens) h = Math.imul(h ^ token, 0x01000193);
  return h >>> 0;
}

export class FakeBackend implements Backend {
  readonly slots: number;
  readonly cells: number;
  readonly batch: number;
  readonly ubatch: number;
  readonly contextTokens: number;
  steps = 0;
  openPrompts = 0;
  openSamplers = 0;
  largestStep = 0;
  private readonly options: FakeOptions;
  private readonly held = new Map<number, number[]>(); // slot → tokens in the cache
  private lastRows: readonly number[] = []; // slot of each row of the last step

  constructor(options: FakeOptions) {
    this.options = options;
    this.slots = options.slots;
    this.cells = options.cells;
    this.batch = options.batch;
    this.ubatch = options.ubatch;
    this.contextTokens = options.contextTokens;
  }

  /** Cells in use. */
  get usedCells(): number {
    return [...this.held.values()].reduce((sum, tokens) => sum + tokens.length, 0);
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
      const tokens = this.held.get(slot) ?? [];
      if (columns.position[i] !== tokens.length) {
        throw new Error(`slot ${slot}: position ${columns.position[i]} follows ${tokens.length} tokens`);
      }
      tokens.push(columns.token[i] ?? -1);
      this.held.set(slot, tokens);
    }
    return forced;
  }

  sample(n: number, rows: Int32Array, samplers: BigUint64Array, tokens: Int32Array): void {
    for (let i = 0; i < n; i++) {
      if (samplers[i] === 0n) throw new Error("a row without a sampler");
      tokens[i] = this.next(this.held.get(this.lastRows[rows[i] ?? -1] ?? -1) ?? []);
    }
  }

  /** What follows these tokens: a lower-case letter, or the end. */
  next(tokens: readonly number[]): number {
    const h = hash(tokens);
    return h % this.options.eogOneIn === 0 ? EOG : 97 + ((h >>> 8) % 26);
  }

  clearSlot(slot: SlotId): void {
    this.held.delete(slot);
  }

  newSampler(_params: SamplingParams, _seed: number, _choice: number): SamplerHandle {
    this.openSamplers++;
    return BigInt(this.openSamplers) as SamplerHandle;
  }

  freeSampler(): void {
    this.openSamplers--;
  }

  tokenBytes(token: number): Uint8Array {
    return Uint8Array.of(token);
  }

  endsGeneration(token: number): boolean {
    return token === EOG;
  }
}
