// An assistant: a named preset of model, system prompt, tools and sampling. Pure.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { DEFAULT_SETTINGS, Settings } from "./conversation.ts";

export const Assistant = Type.Object({
  id: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  /** "": the server's default. */
  model: Type.String(),
  settings: Settings,
});
export type Assistant = Static<typeof Assistant>;

/** The valid assistants of a list; settings added since they were saved take their defaults. */
export function assistantsIn(list: unknown): readonly Assistant[] {
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  return entries
    .map((entry) =>
      typeof entry === "object" && entry !== null && "settings" in entry
        ? { ...entry, settings: { ...DEFAULT_SETTINGS, ...(entry.settings as object) } }
        : entry,
    )
    .filter((entry) => Value.Check(Assistant, entry));
}
