// A folder that a setting names, opened at the start.

import { reasonOf } from "../core/reason.ts";
import type { Workdir } from "../sandbox/types.ts";

/** What `open` gives. Throws one sentence that names the setting where the folder cannot be had. */
export function usableFolder(setting: string, folder: string, open: () => Workdir): Workdir {
  try {
    return open();
  } catch (error) {
    const reason = reasonOf(error);
    throw new Error(`${setting} = "${folder}": ${reason}`, { cause: error });
  }
}
