// Data of a vocabulary's tokens: their bytes, read once each, and whether they end an answer or are markup.

import type { Native } from "../library.ts";
import type { Handle } from "../text.ts";

const ENDS_GENERATION = 1;
const CONTROL = 2;

export class LlamaTokens {
  private readonly native: Native;
  private readonly model: Handle;
  private readonly flags: Uint8Array; // [vocabulary]
  private readonly plain: (Uint8Array | undefined)[] = []; // [vocabulary], filled on demand
  private readonly visible: (Uint8Array | undefined)[] = [];
  private controls: ReadonlyMap<number, string> | undefined;

  constructor(native: Native, model: Handle, vocabulary: number) {
    this.native = native;
    this.model = model;
    this.flags = new Uint8Array(vocabulary);
    native.svc_vocab_flags(model, this.flags, vocabulary);
  }

  endsGeneration(token: number): boolean {
    return ((this.flags[token] ?? 0) & ENDS_GENERATION) !== 0;
  }

  isMarkup(token: number): boolean {
    return ((this.flags[token] ?? 0) & CONTROL) !== 0;
  }

  /** `visible`: with the text of control tokens. */
  bytes(token: number, visible: boolean): Uint8Array {
    const known = visible ? this.visible : this.plain;
    return (known[token] ??= this.read(token, visible ? 1 : 0));
  }

  /** Texts of the control tokens, read once. */
  controlTexts(): ReadonlyMap<number, string> {
    this.controls ??= new Map(
      Array.from(this.flags.keys())
        .filter((token) => this.isMarkup(token))
        .map((token) => [token, Buffer.from(this.bytes(token, true)).toString()] as const)
        .filter(([, text]) => text !== ""),
    );
    return this.controls;
  }

  private read(token: number, visible: 0 | 1): Uint8Array {
    let buffer = new Uint8Array(32);
    let n = this.native.svc_token_bytes(this.model, token, visible, buffer, buffer.length);
    if (n < 0) {
      buffer = new Uint8Array(-n);
      n = this.native.svc_token_bytes(this.model, token, visible, buffer, buffer.length);
    }
    return buffer.slice(0, n);
  }
}
