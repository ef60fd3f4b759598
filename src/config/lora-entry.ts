// An adapter as settings name it: a table, or the short form ALIAS=SOURCE[@REVISION] of the command line.

import { type Static, Type } from "@sinclair/typebox";

const LoraTable = Type.Object({
  alias: Type.String({ minLength: 1 }),
  source: Type.String({ minLength: 1 }),
  revision: Type.Optional(Type.String({ minLength: 1 })),
});

export const LoraEntry = Type.Union([Type.String({ pattern: "^[^=]+=[^=]+$" }), LoraTable]);
export type LoraEntry = Static<typeof LoraEntry>;

/** The parts of an entry. A source on this machine has no revision. */
export function loraParts(entry: LoraEntry): Static<typeof LoraTable> {
  if (typeof entry !== "string") return entry;
  const at = entry.indexOf("=");
  const alias = entry.slice(0, at);
  const [, source = "", revision] = /^(.+?)(?:@([^@/]+))?$/.exec(entry.slice(at + 1)) ?? [];
  return revision === undefined ? { alias, source } : { alias, source, revision };
}
