// Log probabilities as RunEvents carry them.

import type { TokenChance, TokenLogprob } from "../../core/run.ts";
import type { Backend } from "./backend.ts";
import type { TokenTexts } from "./detokenize.ts";

const lenient = new TextDecoder("utf-8", { ignoreBOM: true });

export class Logprobs {
  private readonly backend: Backend;
  private readonly texts: TokenTexts;

  constructor(backend: Backend, texts: TokenTexts) {
    this.backend = backend;
    this.texts = texts;
  }

  /** A token at a row of the last decode, with the `top` most likely tokens there. */
  at(row: number, token: number, top: number): TokenLogprob {
    const result = this.backend.logprobs(row, token, top);
    return {
      ...this.chance(token, result.logprob),
      top: result.top.map((entry) => this.chance(entry.token, entry.logprob)),
    };
  }

  /** The first token of a prompt, which has no probability. */
  unscored(token: number): TokenLogprob {
    return { ...this.chance(token, 0), top: [] };
  }

  private chance(token: number, logprob: number): TokenChance {
    const bytes = this.backend.tokenBytes(token, true);
    const text = this.texts.get(token, bytes) ?? lenient.decode(bytes);
    return { token, text, bytes: Array.from(bytes), logprob };
  }
}
