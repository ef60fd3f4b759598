// ConstraintBackend over llguidance: grammars for one vocabulary, and their matchers. Owns its native handles.

import { ptr } from "bun:ffi";
import type { Constraint } from "../../src/core/constraint.ts";
import { ServiceError } from "../../src/core/error.ts";
import type {
  Acceptance,
  AnswerConstraint,
  Closing,
  ConstraintBackend,
  Mask,
  Matcher,
  PendingGrammar,
} from "../../src/worker/text/constraint-backend.ts";
import { Closer } from "../../src/grammar/closing.ts";
import type { GrammarNative, Native } from "../library.ts";
import { cText, type Handle, nativeText } from "../text.ts";

/** A model's tokens. */
export interface Vocabulary {
  readonly size: number;
  /** [size] bit 0 ends generation, bit 1 control token. */
  readonly flags: Uint8Array;
  /** Bytes of a token, for control tokens their text; valid until the next call. */
  bytes(token: number): Uint8Array;
}

/** Reads a loaded model's tokens, about 1 us each. */
export function readVocabulary(native: Native, model: Handle): Vocabulary {
  const size = native.svc_vocab_flags(model, new Uint8Array(1), 0);
  const flags = new Uint8Array(size);
  native.svc_vocab_flags(model, flags, size);
  let buffer = new Uint8Array(256);
  const bytes = (token: number): Uint8Array => {
    let n = native.svc_token_bytes(model, token, 1, buffer, buffer.length);
    if (n < 0) {
      buffer = new Uint8Array(-n);
      n = native.svc_token_bytes(model, token, 1, buffer, buffer.length);
    }
    return buffer.subarray(0, n);
  };
  return { size, flags, bytes };
}

const ACCEPTANCE: readonly Acceptance[] = ["ok", "finished", "rejected"];
/** Average bytes of a token, for the first allocation. */
const TOKEN_BYTES = 8;

function failure(native: GrammarNative, param: string): ServiceError {
  const message = `${param} cannot be enforced: ${nativeText(native.svc_grammar_last_error())}`;
  return new ServiceError("invalid_request", message, { param });
}

/** Shared by all matchers of an engine. */
interface Shared {
  readonly native: GrammarNative;
  readonly words: number;
  /** Mask of all tokens except those that end an answer. */
  readonly open: Mask;
  readonly closer: Closer;
}

/** What a grammar's matchers share. */
interface Source {
  /** The request field, for errors. */
  readonly param: string;
  /** Tags that end free text. */
  readonly tags: readonly string[];
}

/** An explicit buffer: a small typed array may move when its buffer is first accessed. */
function newMask(words: number): Mask {
  const bits = new Uint32Array(new ArrayBuffer(words * Uint32Array.BYTES_PER_ELEMENT));
  return { words: bits, address: BigInt(ptr(bits)) };
}

class GrammarMatcher implements Matcher {
  readonly mask: Mask;
  readonly handle: Handle;
  readonly openMaskAddress: bigint;
  private readonly shared: Shared;
  private readonly source: Source;

  constructor(shared: Shared, handle: Handle, source: Source) {
    this.shared = shared;
    this.handle = handle;
    this.source = source;
    this.mask = newMask(shared.words);
    this.openMaskAddress = shared.open.address;
  }

  get unenforced(): readonly string[] {
    const text = this.shared.native.svc_grammar_unenforced(this.handle);
    if (text === null) throw failure(this.shared.native, this.source.param);
    return JSON.parse(nativeText(text));
  }

  feed(text: string): Acceptance {
    const bytes = cText(text);
    const result = this.shared.native.svc_grammar_feed(this.handle, bytes, bytes.length - 1);
    const acceptance = ACCEPTANCE[result];
    if (acceptance === undefined) throw failure(this.shared.native, this.source.param);
    return acceptance;
  }

  accept(token: number): Acceptance {
    const acceptance = ACCEPTANCE[this.shared.native.svc_grammar_accept(this.handle, token)];
    if (acceptance === undefined) throw failure(this.shared.native, this.source.param);
    return acceptance;
  }

  mayEnd(): boolean {
    const state = this.shared.native.svc_grammar_state(this.handle);
    if (state < 0) throw failure(this.shared.native, this.source.param);
    return state > 0;
  }

  computeMask(into = this.mask): void {
    const { native, words } = this.shared;
    if (native.svc_grammar_mask(this.handle, into.words, words) !== 0)
      throw failure(native, this.source.param);
  }

  closing(): Closing | undefined {
    return this.shared.closer.find(this, this.source.tags);
  }

  clone(): Matcher {
    const copy = this.shared.native.svc_grammar_clone(this.handle);
    if (copy === null) throw failure(this.shared.native, this.source.param);
    return new GrammarMatcher(this.shared, copy, this.source);
  }

  free(): void {
    this.shared.native.svc_grammar_free(this.handle);
  }
}

/** The library recognizes an answer grammar by its first member. */
function constraintText(constraint: Constraint | AnswerConstraint): string {
  if (constraint.type !== "answer") return JSON.stringify(constraint);
  const { type, grammar, parts, sources, prefix } = constraint;
  return JSON.stringify({ type, grammar, parts, sources, prefix });
}

/** The vocabulary as svc_grammar_open takes it. */
function columns(vocabulary: Vocabulary): { readonly bytes: Uint8Array; readonly lengths: Int32Array } {
  const lengths = new Int32Array(vocabulary.size);
  let bytes = new Uint8Array(vocabulary.size * TOKEN_BYTES);
  let used = 0;
  for (let token = 0; token < vocabulary.size; token++) {
    const text = vocabulary.bytes(token);
    if (used + text.length > bytes.length) {
      const larger = new Uint8Array(2 * (used + text.length));
      larger.set(bytes.subarray(0, used));
      bytes = larger;
    }
    bytes.set(text, used);
    used += text.length;
    lengths[token] = text.length;
  }
  return { bytes: bytes.subarray(0, used), lengths };
}

/** Bit 0 of a flag is set where the token ends an answer. */
function openMask(words: number, flags: Uint8Array): Mask {
  const mask = newMask(words);
  flags.forEach((flag, token) => {
    if ((flag & 1) === 0) mask.words[token >> 5] = (mask.words[token >> 5] ?? 0) | (1 << (token & 31));
  });
  return mask;
}

export class GrammarEngine implements ConstraintBackend {
  private readonly native: GrammarNative;
  private readonly shared: Shared;
  private readonly engine: Handle;
  private handles = new BigUint64Array(0); // [batch] grows
  private masks = new BigUint64Array(0); // [batch] grows
  private batch: readonly GrammarMatcher[] = [];

  /** `threads`: for masks. Throws when no token of the vocabulary ends an answer. */
  constructor(native: GrammarNative, vocabulary: Vocabulary, threads = 1) {
    const { bytes, lengths } = columns(vocabulary);
    const { size, flags } = vocabulary;
    const engine = native.svc_grammar_open(bytes, bytes.length, lengths, flags, size, threads);
    if (engine === null) throw new Error(nativeText(native.svc_grammar_last_error()));
    this.native = native;
    this.engine = engine;
    const words = Math.ceil(vocabulary.size / 32);
    this.shared = {
      native,
      words,
      open: openMask(words, flags),
      closer: new Closer({ bytes, lengths, flags }),
    };
  }

  newMask(): Mask {
    return newMask(this.shared.words);
  }

  compile(constraint: Constraint | AnswerConstraint, param = "response_format"): PendingGrammar {
    const { native, shared } = this;
    const source = { param, tags: constraint.type === "answer" ? constraint.tags : [] };
    const pending = native.svc_grammar_compile_begin(this.engine, cText(constraintText(constraint)));
    if (pending === null) throw new Error(nativeText(native.svc_grammar_last_error()));
    return {
      take(waitMs: number): Matcher | undefined {
        const state = native.svc_grammar_compile_wait(pending, waitMs);
        if (state === 0) return undefined;
        const error = state < 0 ? failure(native, param) : undefined;
        const handle = native.svc_grammar_compile_take(pending);
        if (handle === null) throw error ?? failure(native, param);
        return new GrammarMatcher(shared, handle, source);
      },
      free: () => native.svc_grammar_compile_free(pending),
    };
  }

  masksBegin(matchers: readonly Matcher[]): void {
    if (matchers.length > this.handles.length) {
      this.handles = new BigUint64Array(2 * matchers.length);
      this.masks = new BigUint64Array(2 * matchers.length);
    }
    const batch = matchers as readonly GrammarMatcher[]; // an engine has only matchers of this class
    batch.forEach((matcher, i) => {
      this.handles[i] = BigInt(matcher.handle);
      this.masks[i] = matcher.mask.address;
    });
    if (this.native.svc_grammar_masks_begin(this.engine, batch.length, this.handles, this.masks) !== 0) {
      throw new Error(nativeText(this.native.svc_grammar_last_error()));
    }
    this.batch = batch;
  }

  masksWait(): readonly Matcher[] {
    const { batch } = this;
    this.batch = [];
    const failed = this.native.svc_grammar_masks_wait(this.engine);
    if (failed === 0) return [];
    return batch.filter(({ handle }) => this.native.svc_grammar_state(handle) < 0);
  }

  /** Stops its threads. Afterwards, its matchers and pending grammars can only be freed. */
  close(): void {
    this.native.svc_grammar_close(this.engine);
  }
}
