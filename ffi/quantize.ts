// llama.cpp's quantizer.

import type { Native } from "./library.ts";
import { cText, nativeText } from "./text.ts";

export interface QuantizeCall {
  readonly input: string;
  readonly output: string;
  /** llama_ftype. */
  readonly type: number;
  readonly threads: number;
  readonly importance: string | undefined;
  /** Tell nobody how far it is. */
  readonly quiet?: boolean;
}

const STDOUT = 1;
const NOWHERE = -1;

/** Blocks until the file is written, telling its progress on stdout. Returns why it failed, undefined if it did not. */
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
