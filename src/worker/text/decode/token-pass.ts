// One forward pass over token rows: fills the batch, computes grammar masks meanwhile, extends the KV cache and samples.
// Does not append the sampled tokens.

import type { DecodeOutcome } from "../backend.ts";
import type { EngineSequence } from "../choice.ts";
import type { Mask } from "../constraint-backend.ts";
import type { PlannedRows } from "../scheduler.ts";
import type { DecodeContext } from "./mode.ts";

export interface TokenPassResult {
  readonly prefillTokens: number;
  /** Sequences whose row continues their answer. */
  readonly continued: number;
}

/** The sampled tokens are in the context's batch afterwards. Returns the outcome of a pass that was not computed. */
export function tokenPass(
  { backend, batch, constraints, echo, kv }: DecodeContext,
  rows: readonly PlannedRows<EngineSequence>[],
): TokenPassResult | Exclude<DecodeOutcome, "done"> {
  const prefillTokens = batch.fill(rows);
  const { drawn, batchRows, samplers, masks, tokens } = batch;
  // A mask depends on earlier tokens, not on logits, so masks are computed beside the pass.
  const matchers = drawn.flatMap(({ owner }) => owner.guard?.active ?? []);
  if (matchers.length > 0) constraints().masksBegin(matchers);
  const outcome = backend.decode(batch.columns, batch.count);
  if (matchers.length > 0) constraints().masksWait();
  if (outcome !== "done") return outcome;
  echo.score(rows);
  const continued = rows.filter(({ sequence }) => sequence.generated > 0 && sequence.gap === 1).length;
  for (const { sequence, count } of rows) kv.extend(sequence, count);
  drawn.forEach((sequence, i) => (masks[i] = maskAddress(sequence)));
  if (drawn.length > 0) backend.sample(drawn.length, batchRows, samplers, masks, tokens);
  return { prefillTokens, continued };
}

/** Address of the mask for a sequence's next token, 0 for none. `mask`: where it was computed; by default in the guard's matcher. */
export function maskAddress({ owner, generated }: EngineSequence, mask?: Mask): bigint {
  const left = owner.output.isCalling ? owner.run.tokenCap - generated : undefined;
  return owner.guard?.maskAddress(left, mask) ?? 0n;
}
