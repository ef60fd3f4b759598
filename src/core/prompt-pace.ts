// Pace at which a prompt is read, and the time that is left at that pace. Pure; loaded by browsers, too.

import { defined } from "./defined.ts";
import type { RunEvent } from "./run.ts";

type PromptRead = Omit<Extract<RunEvent, { readonly type: "prompt_progress" }>, "type" | "ahead">;

/** Tokens a second, and seconds left; nothing before there is a pace. */
export function promptPace({ total, cached, processed, ms }: PromptRead) {
  const done = processed - cached;
  const perSec = done > 0 && ms > 0 ? (done * 1000) / ms : undefined;
  return defined({ perSec, secsLeft: perSec && (total - processed) / perSec });
}
