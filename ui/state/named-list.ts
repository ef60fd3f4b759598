// A list of named things that this browser keeps, such as assistants.

import { signal } from "@preact/signals";
import { newId } from "./new-id.ts";

interface Named {
  readonly id: string;
  readonly name: string;
}

/** A list in local storage; `valid` are the valid things of a stored list. */
export function namedList<T extends Named>(key: string, valid: (list: unknown) => readonly T[]) {
  const items = signal<readonly T[]>(load(key, valid));
  const put = (list: readonly T[]): void => {
    items.value = list.toSorted((a, b) => a.name.localeCompare(b.name));
    try {
      localStorage.setItem(key, JSON.stringify(items.value));
    } catch {
      // storage is forbidden or full; the list lasts until the page is closed
    }
  };
  return {
    items,
    /** Saves a thing under its name; one of the same name is replaced. */
    save: (make: (id: string) => T): void => {
      const { id, name } = make(newId());
      const known = items.value.find((one) => one.name === name)?.id ?? id;
      put([...items.value.filter((one) => one.id !== known), make(known)]);
    },
    remove: (id: string): void => put(items.value.filter((one) => one.id !== id)),
    /** Adds things of an export file; those of the same id are replaced. */
    add: (added: readonly T[]): void => {
      const ids = new Set(added.map(({ id }) => id));
      put([...items.value.filter(({ id }) => !ids.has(id)), ...added]);
    },
  };
}

function load<T>(key: string, valid: (list: unknown) => readonly T[]): readonly T[] {
  try {
    return valid(JSON.parse(localStorage.getItem(key) ?? "[]"));
  } catch {
    return [];
  }
}
