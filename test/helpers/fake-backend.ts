// A backend without a model: tokens are bytes, and the next token is a function of what the slot holds. It checks every
// call the way a real cache would, so that a mistake of the engine fails loudly instead of producing odd text.

import { ServiceError } from "../../src/core/error.ts";
import type { Message } from "../../src/core/message.ts";
import type { Prompt } from "../../src/core/run.ts";
import type { SamplingParams } from "../../src/core/sampling.ts";
import type {
  Backend,
  BatchColumns,
  CellBackend,
  DecodeOutcome,
  DraftRequest,
  DraftModel,
  LevelLimits,
  PendingPrompt,
  RenderedPrompt,
  ReuseMode,
  RowLogprobs,
  SamplerHandle,
  SlotId,
  StateBackend,
} from "../../src/worker/text/backend.ts";
import { PLAIN_FORMAT } from "../../ffi/llama/prompt.ts";
import type {
  Encoding,
  MediaChunk,
  MediaPass,
  PendingEncoding,
} from "../../src/worker/text/media-backend.ts";
import { type AdapterId, BASE_MODEL } from "../../src/core/adapter.ts";

/** Ends the answer. */
export const EOG = 256;

/** Looks at a very long prompt before it is there. */
const LONG_RENDER_STEPS = 100;

const NO_MARKUP = { ...PLAIN_FORMAT, thinks: true };

export interface FakeOptions {
  readonly maxSeqs: number;
  /** Native sequences; more than maxSeqs leaves room for kept prefixes. */
  readonly slots: number;
  readonly reuse?: ReuseMode;
  /** States can be saved, which are all there is of a sequence, or go with the cells before them. */
  readonly states?: "alone" | "with cells";
  /** Cells can be copied, except where this returns false. */
  readonly copies?: (what: "save" | "restore", count: number) => boolean;
  readonly cells: number;
  readonly batch: number;
  readonly ubatch: number;
  readonly contextTokens: number;
  /** One in this many drawn tokens ends the answer. */
  readonly eogOneIn: number;
  /** Most drawn tokens are the one that stands so many places before. */
  readonly period?: number;
  /** Of eight tokens, those that are another one; 1 by default. */
  readonly fresh?: number;
  /** Milliseconds of a pass of so many rows. */
  readonly passMs?: (rows: number) => number;
  /** Told before each decode; what it returns is the outcome of this step. */
  readonly outcome?: (step: number) => DecodeOutcome;
  /** Steps that a prompt takes to be rendered. */
  readonly renderSteps?: number;
  /** Prompts of so many tokens and more are very long: they take a hundred steps to render, in a line of their own. */
  readonly longTokens?: number;
  /** Looks at the encoder that an encoding takes. */
  readonly encodeSteps?: number;
  /** A draft model. */
  readonly draft?: FakeDrafts;
  /** A pass goes on after decode. */
  readonly goesOn?: boolean;
  /** The encoder fails at contents of which this is true. */
  readonly encoderFails?: (content: number) => boolean;
}

/** A cell; slots that share it hold the same object. */
interface Cell {
  readonly token: number;
  readonly adapter: AdapterId;
  /** Its position; all of a chunk have that of the first. */
  readonly at: number;
  /** Where text may go on; NaN within a chunk. */
  readonly next: number;
  /** Of a chunk: how much of it there is up to here. */
  readonly done?: number;
}

/** Tokens of one part of a message: a letter is one, `4.wide` is four that take two positions, `.whole` must be computed at once. */
function partTokens({ content }: Message, from: number, chunks: MediaChunk[]): number[] {
  const tokens: number[] = [];
  for (const part of content) {
    if (part.type === "text") tokens.push(...Buffer.from(part.text));
    else {
      const [, count = "1"] = /:(\d+)/.exec(part.data) ?? [];
      const length = Number(count);
      chunks.push({
        index: chunks.length,
        at: from + tokens.length,
        tokens: length,
        positions: part.data.endsWith(".wide") ? Math.ceil(length / 2) : length,
        content: -2 - (hash([...Buffer.from(part.data)]) % 1_000_000),
        whole: part.data.endsWith(".whole"),
      });
      tokens.push(...Array.from({ length }, () => chunks.at(-1)?.content ?? 0));
    }
  }
  return tokens;
}

/** The tokens and media of a conversation; media have data like `cat:4`, a name and their tokens. */
export function fakeTokens(messages: readonly Message[]): { tokens: number[]; media: MediaChunk[] } {
  const tokens: number[] = [];
  const media: MediaChunk[] = [];
  for (const message of messages) tokens.push(...partTokens(message, tokens.length, media));
  return { tokens, media };
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
  readonly vocabulary: number = 257;
  readonly goesOn: boolean | undefined;
  readonly draftModel: FakeDraftModel | undefined;
  readonly states: StateBackend | undefined;
  readonly cellCopies: CellBackend | undefined;
  /** Slots with cells of another one, but without its state. */
  private readonly stateless = new Set<number>();
  steps = 0;
  computedTokens = 0;
  openPrompts = 0;
  openSamplers = 0;
  largestStep = 0;
  /** Passes whose tokens were drawn. */
  sampled = 0;
  /** Calls that asked for several steps. */
  multiStepCalls = 0;
  selections = 0;
  encoded = 0;
  openEncodings = 0;
  private readonly encoder: object[] = []; // encodings under way, the one at work first
  private adapter: AdapterId = BASE_MODEL;
  private untoldMs = 0;
  private readonly options: FakeOptions;
  private readonly held = new Map<number, Cell[]>(); // slot → what the cache holds of it
  private readonly holders = new Map<Cell, number>(); // cell → how many slots hold it
  private lastRows: readonly { readonly slot: number; readonly cells: number }[] = []; // of the last step

  constructor(options: FakeOptions) {
    this.options = options;
    this.maxSeqs = options.maxSeqs;
    this.slots = options.slots;
    this.reuse = options.reuse ?? "prefix";
    this.cells = options.cells;
    this.batch = options.batch;
    this.ubatch = options.ubatch;
    this.contextTokens = options.contextTokens;
    this.goesOn = options.goesOn;
    const { draft, states, copies } = options;
    if (copies !== undefined) this.cellCopies = this.newCopies(copies);
    if (states !== undefined) this.states = this.newStates(states === "alone");
    this.draftModel = draft === undefined ? undefined : new FakeDraftModel(draft, (ask) => this.after(ask));
  }

  /** The tokens after the one that a draft is requested for. */
  private *after({ slot, token, position }: DraftRequest): Generator<number, void> {
    const cells = this.held.get(slot) ?? [];
    if ((cells.at(-1)?.next ?? 0) !== position)
      throw new Error(`a draft at position ${position} of slot ${slot}`);
    const tokens = [...cells.map((cell) => cell.token), token];
    for (;;) {
      const next = this.next(tokens, this.adapter);
      yield next;
      tokens.push(next);
    }
  }

  /** Cells in use. */
  get usedCells(): number {
    return this.holders.size;
  }

  private hold(slot: number, cells: Cell[]): void {
    for (const cell of cells) this.holders.set(cell, (this.holders.get(cell) ?? 0) + 1);
    for (const cell of this.held.get(slot) ?? []) {
      const left = (this.holders.get(cell) ?? 0) - 1;
      if (left > 0) this.holders.set(cell, left);
      else this.holders.delete(cell);
    }
    this.held.set(slot, cells);
  }

  private append(slot: number, cells: Cell[], cell: Cell): void {
    cells.push(cell);
    this.held.set(slot, cells);
    this.holders.set(cell, 1);
  }

  render(prompt: Prompt): PendingPrompt {
    if (prompt.type === "text" || prompt.type === "gap")
      throw new ServiceError("invalid_request", "the fake backend takes token prompts and conversations");
    const { tokens, media } =
      prompt.type === "tokens" ? { tokens: prompt.tokens, media: [] } : fakeTokens(prompt.messages);
    const { renderSteps = 0, longTokens = Number.POSITIVE_INFINITY } = this.options;
    const long = tokens.length >= longTokens;
    let left = long ? LONG_RENDER_STEPS : renderSteps;
    this.openPrompts++;
    return {
      long,
      take: () => {
        if (left-- > 0) return undefined;
        return {
          tokens: Int32Array.from(tokens),
          media,
          format: NO_MARKUP,
          plain: true,
          plan: () => undefined,
          parse: () => undefined,
          free: () => void this.openPrompts--,
        };
      },
      free: () => void this.openPrompts--,
    };
  }

  identity(adapter: AdapterId): string {
    return `fake ${adapter}`;
  }

  selectAdapter(adapter: AdapterId): void {
    this.selections++;
    this.adapter = adapter;
  }

  /** Milliseconds since the last call. */
  takeTime(): number {
    const ms = this.untoldMs + (this.draftModel?.takeTime() ?? 0);
    this.untoldMs = 0;
    return ms;
  }

  decode(columns: BatchColumns, n: number): DecodeOutcome {
    this.steps++;
    this.largestStep = Math.max(this.largestStep, n);
    if (n < 1 || n > this.batch) throw new Error(`a step of ${n} rows, the batch holds ${this.batch}`);
    const forced = this.options.outcome?.(this.steps) ?? "done";
    if (forced === "full") return "full";
    if (this.usedCells + n > this.cells)
      throw new Error(`${this.usedCells} + ${n} cells, there are ${this.cells}`);
    if (this.draftModel?.level !== undefined) checkDraftsLast(columns, n, this.draftModel.level);
    const lastRows = [];
    for (let i = 0; i < n; i++) {
      const slot = columns.slot[i] ?? -1;
      if (slot < 0 || slot >= this.slots) throw new Error(`row ${i} has slot ${slot}`);
      const cells = this.held.get(slot) ?? [];
      const at = columns.position[i] ?? -1;
      const token = columns.token[i] ?? -1;
      if (token < 0) throw new Error("a placeholder was computed as a token");
      this.checkNext(slot, cells, at);
      this.append(slot, cells, { token, adapter: this.adapter, at, next: at + 1 });
      lastRows.push({ slot, cells: cells.length });
    }
    this.lastRows = lastRows;
    this.computedTokens += n;
    this.untoldMs += this.options.passMs?.(n) ?? 0;
    this.draftModel?.passed();
    return forced;
  }

  sample(
    n: number,
    rows: Int32Array,
    samplers: BigUint64Array,
    _masks: BigUint64Array,
    tokens: Int32Array,
  ): void {
    this.sampled++;
    for (let i = 0; i < n; i++) {
      if (samplers[i] === 0n) throw new Error("a row without a sampler");
      tokens[i] = this.next(this.tokensOf(rows[i] ?? -1), this.adapter);
    }
  }

  /** Tokens up to a row of the last step. */
  protected tokensOf(at: number): readonly number[] {
    const row = this.lastRows[at];
    if (row === undefined) throw new Error(`row ${at} was not computed`);
    return (this.held.get(row.slot)?.slice(0, row.cells) ?? []).map(({ token }) => token);
  }

  decodeSteps(
    { token, position, slot, output }: BatchColumns,
    n: number,
    samplers: BigUint64Array,
    steps: number,
    tokens: Int32Array,
  ): number | "full" | "failed" {
    const rows = Int32Array.from({ length: n }, (_, i) => i);
    const columns = { token: token.slice(0, n), position: position.slice(0, n), slot, output };
    this.multiStepCalls++;
    for (let step = 0; step < steps; step++) {
      const outcome = this.decode(columns, n);
      if (outcome !== "done" && step === 0) return outcome;
      if (outcome !== "done") {
        for (const i of rows) this.cutSlot((slot[i] ?? -1) as SlotId, columns.position[i] ?? 0);
        return step;
      }
      const drawn = tokens.subarray(step * n, (step + 1) * n);
      this.sample(n, rows, samplers, new BigUint64Array(n), drawn);
      if (drawn.includes(EOG)) return step + 1;
      columns.token.set(drawn);
      for (const i of rows) columns.position[i] = (columns.position[i] ?? 0) + 1;
    }
    return steps;
  }

  /** States that know what they are the end of. Tokens that 16 divides are markup. */
  private newStates(alone: boolean): StateBackend {
    return {
      alone,
      identity: (adapter) => `fake ${adapter}`,
      save: (slot) => Buffer.from(JSON.stringify(this.held.get(slot) ?? [])),
      restore: (slot, state, position) => {
        const saved: Cell[] = JSON.parse(Buffer.from(state).toString());
        if ((saved.at(-1)?.next ?? 0) !== position) throw new Error("a state of another position");
        const cells = alone ? saved : upTo(this.held.get(slot) ?? [], position);
        if (JSON.stringify(cells) !== JSON.stringify(saved)) throw new Error("a state of other cells");
        this.hold(slot, cells);
        this.stateless.delete(slot);
        return true;
      },
      isMarkup: (token) => token % 16 === 0,
    };
  }

  /** Copies that know what they are copies of. */
  private newCopies(succeeds: NonNullable<FakeOptions["copies"]>): CellBackend {
    let count = 0;
    return {
      identity: (adapter) => `fake ${adapter}`,
      save: (slot, from, to) => {
        const cells = upTo(this.held.get(slot) ?? [], to);
        return succeeds("save", count++)
          ? Buffer.from(JSON.stringify(cells.filter(({ at }) => at >= from)))
          : undefined;
      },
      restore: (slot, copy, from, to) => {
        const held = this.held.get(slot) ?? [];
        const cells: Cell[] = JSON.parse(Buffer.from(copy).toString());
        if ((held.at(-1)?.next ?? 0) !== from || cells[0]?.at !== from || cells.at(-1)?.next !== to)
          throw new Error("a copy of other positions");
        if (this.usedCells + cells.length > this.cells) throw new Error("no room for a copy");
        if (!succeeds("restore", count++)) return false;
        this.hold(slot, [...held, ...cells]);
        if (this.states !== undefined) this.stateless.add(slot);
        return true;
      },
    };
  }

  private checkNext(slot: number, cells: readonly Cell[], at: number): void {
    const next = cells.at(-1)?.next ?? 0;
    if (at !== next) throw new Error(`slot ${slot}: position ${at} where ${next} follows`);
    const { adapter } = this;
    if (this.stateless.has(slot)) throw new Error(`slot ${slot} has no state`);
    const alien = cells.find((cell) => cell.adapter !== adapter);
    if (alien !== undefined)
      throw new Error(`slot ${slot} of adapter ${alien.adapter} in a pass of adapter ${adapter}`);
  }

  encode(_prompt: RenderedPrompt, { content }: MediaChunk): PendingEncoding {
    const task = {};
    this.encoder.push(task);
    let left = this.options.encodeSteps ?? 0;
    const leave = (): void => void this.encoder.splice(this.encoder.indexOf(task), 1);
    const take = (): Encoding | undefined => {
      if (this.encoder[0] !== task || left-- > 0) return undefined;
      leave();
      if (this.options.encoderFails?.(content) === true)
        throw new Error("the encoder failed, as the test wants it");
      this.encoded++;
      this.openEncodings++;
      return { bytes: 1024, free: () => void this.openEncodings-- };
    };
    return { take, free: leave };
  }

  decodeMedia({ chunk, from, count, position, slot }: MediaPass): DecodeOutcome {
    this.steps++;
    const forced = this.options.outcome?.(this.steps) ?? "done";
    if (forced === "full") return "full";
    if (count > this.batch || (chunk.whole && count !== chunk.tokens))
      throw new Error("a chunk in wrong pieces");
    if (this.usedCells + count > this.cells)
      throw new Error(`${this.usedCells} + ${count} cells, there are ${this.cells}`);
    const cells = this.held.get(slot) ?? [];
    if (from === 0) this.checkNext(slot, cells, position);
    else if (cells.at(-1)?.done !== from)
      throw new Error(`${from} tokens of a chunk, ${cells.at(-1)?.done} are there`);
    for (let done = from + 1; done <= from + count; done++) {
      const next = done === chunk.tokens ? position + chunk.positions : NaN;
      this.append(slot, cells, { token: chunk.content, adapter: this.adapter, at: position, next, done });
    }
    this.computedTokens += count;
    return forced;
  }

  /** What follows these tokens: a lower-case letter, or the end. */
  next(tokens: readonly number[], adapter: AdapterId = BASE_MODEL): number {
    const h = hash(adapter === BASE_MODEL ? tokens : [...tokens, -adapter]);
    if (h % this.options.eogOneIn === 0) return EOG;
    const { period = 0, fresh = 1 } = this.options;
    const before = period === 0 || (h >>> 4) % 8 < fresh ? undefined : tokens.at(-period);
    return before === undefined || before < 97 ? 97 + ((h >>> 8) % 26) : before;
  }

  cutSlot(slot: SlotId, from: number): boolean {
    const cells = this.held.get(slot) ?? [];
    const cut = (cells.at(-1)?.next ?? 0) - from;
    if (from > 0 && this.reuse === "whole" && cut > (this.draftModel?.max ?? 0)) return false;
    if (from === 0) {
      this.hold(slot, []);
      this.held.delete(slot);
      this.stateless.delete(slot);
    } else this.hold(slot, upTo(cells, from));
    return true;
  }

  shareSlot(source: SlotId, target: SlotId, length: number): void {
    if (this.reuse !== "prefix" && this.states?.alone !== false) throw new Error("this cache shares nothing");
    if (this.reuse === "whole") this.stateless.add(target);
    if (this.held.has(target)) throw new Error(`slot ${target} is not empty`);
    const cells = this.held.get(source) ?? [];
    const next = cells.at(-1)?.next ?? 0;
    if (next < length) throw new Error(`slot ${source} ends at position ${next}, before ${length}`);
    this.hold(target, upTo(cells, length));
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

  acceptForced(): void {}

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

/** Maximum tokens of a draft, the probability that one is accepted, and milliseconds of each pass that it follows. */
export interface FakeDrafts {
  readonly max: number;
  readonly rightShare: number;
  readonly followMs?: number;
  readonly level?: LevelLimits;
}

/** Drafts what the fake model will sample, sometimes wrongly; checks that each draft is verified. */
export class FakeDraftModel implements DraftModel {
  readonly max: number;
  readonly level: LevelLimits | undefined;
  follows = true;
  pauses = 0;
  /** Empty drafts. */
  empty = 0;
  /** Passes that it followed. */
  passes = 0;
  private readonly rightShare: number;
  private readonly after: (ask: DraftRequest) => Iterable<number>;
  private readonly drafted = new Map<number, number>(); // slot → tokens of its latest draft
  private state = 1;
  private tries = 0;
  private readonly followMs: number;
  private followed = 0;
  private untoldMs = 0;

  constructor(
    { max, rightShare, followMs = 0, level }: FakeDrafts,
    after: (ask: DraftRequest) => Iterable<number>,
  ) {
    this.max = max;
    this.level = level;
    this.followMs = followMs;
    this.rightShare = rightShare;
    this.after = after;
  }

  draft(asks: readonly DraftRequest[]): readonly Int32Array[] {
    if (!this.follows) throw new Error("a draft from a paused model");
    if (new Set(asks.map(({ slot }) => slot)).size !== asks.length) throw new Error("a slot is asked twice");
    this.drafted.clear();
    return asks.map((ask) => {
      if (ask.max < 1 || ask.max > this.max) throw new Error(`${ask.max} tokens are asked for`);
      const draft: number[] = [];
      for (const token of this.after(ask)) {
        if (draft.length === ask.max || this.chance() < 0.1) break; // not sure enough
        this.tries++;
        draft.push(this.chance() < this.rightShare ? token : 97);
      }
      if (draft.length === 0) this.empty++;
      this.drafted.set(ask.slot, draft.length);
      return Int32Array.from(draft);
    });
  }

  /** A pass of the model. */
  passed(): void {
    if (!this.follows) return;
    this.followed++;
    this.passes++;
  }

  takeMs(): number {
    const ms = this.untoldMs;
    this.untoldMs = 0;
    return ms;
  }

  /** Milliseconds since the last call: of draft tokens, and of following. */
  takeTime(): number {
    const followMs = this.followed * this.followMs;
    const ms = 0.1 * this.tries + followMs;
    this.untoldMs += followMs;
    this.followed = 0;
    this.tries = 0;
    return ms;
  }

  accept(slot: SlotId, right: number): void {
    const drafted = this.drafted.get(slot);
    if (right > (drafted ?? 0)) throw new Error(`${right} accepted of ${drafted} tokens`);
    this.drafted.delete(slot);
  }

  follow(on: boolean): void {
    if (on === this.follows) throw new Error("nothing would change");
    this.follows = on;
    if (!on) this.pauses++;
  }

  /** In [0, 1), the same each time. */
  private chance(): number {
    this.state = (Math.imul(this.state, 1_103_515_245) + 12_345) >>> 0;
    return (this.state >>> 8) / 2 ** 24;
  }
}

/** Cells before a position, which must not lie within a chunk. */
function upTo(cells: readonly Cell[], position: number): Cell[] {
  const kept = cells.filter(({ at }) => at < position);
  if ((kept.at(-1)?.next ?? 0) !== position) throw new Error(`position ${position} is no end of a token`);
  return kept;
}

/** For engines whose requests have no constraints. */
export function noConstraints(): never {
  throw new Error("no constraint was expected");
}

/** Drafts are of one length and come last, within the limits. */
function checkDraftsLast({ slot, output }: BatchColumns, n: number, { rows, sequences }: LevelLimits): void {
  const groups = [
    ...Map.groupBy(
      Array.from({ length: n }, (_, row) => row),
      (row) => slot[row],
    ).values(),
  ];
  const isDraft = (own: readonly number[]): boolean =>
    own.length > 1 && own.every((row) => output[row] === 1);
  const first = groups.findIndex(isDraft);
  if (first < 0) return;
  const drafts = groups.slice(first);
  if (drafts.some(({ length }) => length !== drafts[0]?.length))
    throw new Error("rows of another length follow a draft");
  if (drafts.length > sequences || drafts.flat().length > rows)
    throw new Error("drafts of more rows or sequences than fit one part of a pass");
}
