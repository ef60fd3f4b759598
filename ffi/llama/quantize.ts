// llama.cpp's quantizer.

import type { Native } from "../library.ts";
import { cText, nativeText } from "../text.ts";

export interface QuantizeCall {
  readonly input: string;
  readonly output: string;
  /** llama_ftype. */
  readonly type: number;
  readonly threads: number;
  readonly importance: string | undefined;
  /** Print no progress. */
  readonly quiet?: boolean;
}

const STDOUT = 1;
const NOWHERE = -1;

/** Blocks until the file is written; prints progress to stdout. Returns the reason of a failure, undefined on success. */
export function quantizeFile(native: Native, call: QuantizeCall): string | undefined {
  const importance = call.importance === undefined ? null : cText(call.importance);
  const { input, output, type, threads } = call;
  const code = native.svc_quantize(
    cText(input),
    cText(output),
    type,
    threads,
    importance,
    call.quiet === true ? NOWHERE : STDOUT,
  );
  return code === 0 ? undefined : nativeText(native.svc_last_error());
}
