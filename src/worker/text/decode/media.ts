// Media decode: a pass over tokens of one media chunk, computed from its encoding instead of token ids.

import type { DecodeOutcome } from "../backend.ts";
import { measured } from "../step-cost.ts";
import type { DecodeContext, DecodeMode, DecodeStep } from "./mode.ts";

export class MediaDecode implements DecodeMode {
  private readonly context: DecodeContext;

  constructor(context: DecodeContext) {
    this.context = context;
  }

  /** The step has the rows of one sequence. */
  decode({ rows: [planned], startMs }: DecodeStep): DecodeOutcome | undefined {
    const { context } = this;
    if (planned === undefined) return undefined;
    const { sequence, count } = planned;
    const { slot, chunk, computed } = sequence;
    if (slot === undefined || chunk === undefined) return undefined; // its run ended or it was preempted in this step
    const { prompt } = sequence.owner.run;
    const encoding = context.media.encoding(sequence, chunk);
    const position = sequence.positionOf(chunk.at);
    const pass = { prompt, chunk, encoding, from: computed - chunk.at, count, position, slot };
    const outcome = context.backend.decodeMedia(pass);
    if (outcome !== "done") return outcome;
    context.kv.extend(sequence, count);
    context.media.release(sequence, sequence.computed);
    const ms = context.now() - startMs;
    context.cost = measured(context.cost, ms, 0, count);
    context.meter.stepped(ms, count, count, 0);
    return outcome;
  }
}
