// Opens a configured folder at the start.

import { reasonOf } from "../core/reason.ts";
import type { Workdir } from "../sandbox/types.ts";

/** Result of `open`. Throws one sentence that names the setting where the folder cannot be opened. */
export function usableFolder(setting: string, folder: string, open: () => Workdir): Workdir {
  try {
    return open();
  } catch (error) {
    const reason = reasonOf(error);
    throw new Error(`${setting} = "${folder}": ${reason}`, { cause: error });
  }
}
