// Which settings differ between two readings of the configuration.

import { isDeepStrictEqual } from "node:util";
import type { Settings } from "./settings.ts";
import { isTable } from "./sources.ts";

/** Paths of the settings that differ: `server.port`; lists as a whole: `models`. */
export function changedSettings(before: Settings, after: Settings): readonly string[] {
  return changedIn("", before, after);
}

function changedIn(prefix: string, before: object, after: object): readonly string[] {
  const [old, young] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const keys = [...new Set([...old.keys(), ...young.keys()])];
  return keys.flatMap((key) => {
    const [one, other]: readonly unknown[] = [old.get(key), young.get(key)];
    if (isTable(one) && isTable(other)) return changedIn(`${prefix}${key}.`, one, other);
    return isDeepStrictEqual(one, other) ? [] : [prefix + key];
  });
}
