// Fingerprint of one choice: a hash over all that its answer depends on and over what was drawn. Two answers with the same
// fingerprint are the same to the last bit of a log probability.

import { createHash, type Hash } from "node:crypto";
import type { RunRequest } from "../../core/run.ts";

/** What a fingerprint begins with. */
export interface FingerprintStart {
  /** Model, adapter, kernels and library, as the backend states them. */
  readonly identity: string;
  readonly request: RunRequest;
  readonly seed: number;
  readonly choice: number;
  /** Prompt tokens. */
  readonly tokens: Int32Array;
}

export class Fingerprint {
  private readonly hash: Hash;
  private readonly drawn = new DataView(new ArrayBuffer(8));

  constructor({ identity, request, seed, choice, tokens }: FingerprintStart) {
    const { sampling, stop, maxTokens, constraint } = request;
    // Where nothing is drawn, the seed decides nothing: an answer without one would never have the same fingerprint again.
    const isDrawn = sampling.temperature > 0 && sampling.topK !== 1;
    const drawnBy = { ...sampling, seed: isDrawn ? seed : undefined };
    const settings = { identity, sampling: drawnBy, choice, stop, maxTokens, constraint };
    this.hash = createHash("sha256").update(JSON.stringify(settings)).update("\0");
    const ids = new DataView(new ArrayBuffer(4 * tokens.length));
    tokens.forEach((token, i) => ids.setInt32(4 * i, token, true));
    this.hash.update(ids);
  }

  /** A token was drawn. `logprob`: a 32-bit float. */
  add(token: number, logprob: number): void {
    this.drawn.setInt32(0, token, true);
    this.drawn.setFloat32(4, logprob, true);
    this.hash.update(this.drawn);
  }

  /** The fingerprint so far: 32 hexadecimal digits. */
  digest(): string {
    return this.hash.copy().digest("hex").slice(0, 32);
  }
}
