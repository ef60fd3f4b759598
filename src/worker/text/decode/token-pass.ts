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
  context: DecodeContext,
  rows: readonly PlannedRows<EngineSequence>[],
): TokenPassResult | Exclude<DecodeOutcome, "done"> {
  const begun = beginPass(context, rows);
  if (typeof begun !== "string") samplePass(context);
  return begun;
}

/**
 * Begins a pass, which a device may still be computing afterwards. `meanwhile`: what is done as soon as it has begun, before the masks are
 * computed; without it, masks are computed beside the pass.
 */
export function beginPass(
  context: DecodeContext,
  rows: readonly PlannedRows<EngineSequence>[],
  meanwhile?: () => void,
): TokenPassResult | Exclude<DecodeOutcome, "done"> {
  const { backend, batch, echo, kv } = context;
  const prefillTokens = batch.fill(rows);
  // A mask depends on earlier tokens, not on logits.
  const waitForMasks = meanwhile === undefined ? beginMasks(context) : undefined;
  const outcome = backend.decode(batch.columns, batch.count);
  waitForMasks?.();
  if (outcome !== "done") return outcome;
  echo.score(rows);
  const continued = rows.filter(({ sequence }) => sequence.generated > 0 && sequence.gap === 1).length;
  for (const { sequence, count } of rows) kv.extend(sequence, count);
  if (meanwhile !== undefined) {
    meanwhile();
    batch.dropDrawn((sequence) => sequence.slot === undefined);
    beginMasks(context)();
  }
  return { prefillTokens, continued };
}

/** Begins to compute the masks of the batch's next tokens. Returns what waits for them. */
function beginMasks({ batch, constraints }: DecodeContext): () => void {
  const matchers = batch.drawn.flatMap(({ owner }) => owner.guard?.active ?? []);
  if (matchers.length === 0) return () => undefined;
  const masks = constraints();
  masks.masksBegin(matchers);
  return () => masks.masksWait();
}

/** Samples the next tokens of the batch, once its pass is computed. */
export function samplePass({ backend, batch }: DecodeContext): void {
  const { drawn, batchRows, samplers, masks, tokens } = batch;
  drawn.forEach((sequence, i) => (masks[i] = maskAddress(sequence)));
  if (drawn.length > 0) backend.sample(drawn.length, batchRows, samplers, masks, tokens);
}

/** Address of the mask for a sequence's next token, 0 for none. `mask`: where it was computed; by default in the guard's matcher. */
export function maskAddress({ owner, generated }: EngineSequence, mask?: Mask): bigint {
  const left = owner.output.isCalling ? owner.run.tokenCap - generated : undefined;
  return owner.guard?.maskAddress(left, mask) ?? 0n;
}
