// Which settings differ between two readings of the configuration.

import { isDeepStrictEqual } from "node:util";
import { isObject } from "../core/json.ts";
import type { Settings } from "./settings.ts";

/** Paths of the settings that differ: `server.port`; lists as a whole: `models`. */
export function changedSettings(before: Settings, after: Settings): readonly string[] {
  return changedIn("", before, after);
}

/** `before` with the values that `after` has at these paths. */
export function withChanges(before: Settings, after: Settings, paths: readonly string[]): Settings {
  return changedAt(before, after, paths) as Settings; // each value is one of the two
}

function changedAt(before: object, after: object, paths: readonly string[]): object {
  const young: ReadonlyMap<string, unknown> = new Map(Object.entries(after));
  const merged = new Map<string, unknown>(Object.entries(before));
  for (const path of paths) {
    const [key = "", ...rest] = path.split(".");
    const [one, other] = [merged.get(key), young.get(key)];
    if (rest.length > 0 && isObject(one) && isObject(other))
      merged.set(key, changedAt(one, other, [rest.join(".")]));
    else if (other === undefined) merged.delete(key);
    else merged.set(key, other);
  }
  return Object.fromEntries(merged);
}

function changedIn(prefix: string, before: object, after: object): readonly string[] {
  const [old, young] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const keys = [...new Set([...old.keys(), ...young.keys()])];
  return keys.flatMap((key) => {
    const [one, other]: readonly unknown[] = [old.get(key), young.get(key)];
    if (isObject(one) && isObject(other)) return changedIn(`${prefix}${key}.`, one, other);
    return isDeepStrictEqual(one, other) ? [] : [prefix + key];
  });
}
