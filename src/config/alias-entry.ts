// Another name for a model as settings give it: a table, or the short form NAME=MODEL of the command line.

import { type Static, Type } from "@sinclair/typebox";

const AliasTable = Type.Object({
  name: Type.String({ minLength: 1 }),
  model: Type.String({ minLength: 1 }),
});

export const AliasEntry = Type.Union([Type.String({ pattern: "^[^=]+=.+$" }), AliasTable]);
export type AliasEntry = Static<typeof AliasEntry>;

/** The parts of an entry. */
export function aliasParts(entry: AliasEntry): Static<typeof AliasTable> {
  if (typeof entry !== "string") return entry;
  const at = entry.indexOf("=");
  return { name: entry.slice(0, at), model: entry.slice(at + 1) };
}
