// Opens the State of the settings.

import type { State } from "../core/state.ts";
import { memoryState } from "./memory.ts";
import { sqliteState } from "./sqlite.ts";

const SQLITE = "sqlite:";

/** Opens `memory` or `sqlite:FILE`. Throws StateFileError for a file that cannot be used. */
export function openState(setting: string, log: (line: string) => void): State {
  if (!setting.startsWith(SQLITE)) return memoryState();
  return sqliteState({ path: setting.slice(SQLITE.length), log });
}
