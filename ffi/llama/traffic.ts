// What sampling has copied from where logits are computed.

import type { Native } from "../library.ts";
import type { Handle } from "../text.ts";

/** Since the context was made. */
export interface RowTraffic {
  readonly passes: number;
  /** Rows with logits. */
  readonly rows: number;
  /** Of logits, copied from where they were computed. */
  readonly bytes: number;
  readonly waits: number;
  /** Rows copied whole. */
  readonly wholeRows: number;
  /** Passes that used the graph of the one before. */
  readonly reusedGraphs: number;
}

export function trafficOf(native: Native, context: Handle): RowTraffic {
  const out = new BigInt64Array(6);
  native.svc_context_traffic(context, out);
  const [passes = 0, rows = 0, bytes = 0, waits = 0, wholeRows = 0, reusedGraphs = 0] = Array.from(
    out,
    Number,
  );
  return { passes, rows, bytes, waits, wholeRows, reusedGraphs };
}
