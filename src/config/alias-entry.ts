// Another name for a model as settings give it: a table, or the short form NAME=MODEL of the command line.

import { type Static, Type } from "@sinclair/typebox";
import type { Preset } from "../core/preset.ts";
import { presetRows } from "./preset.ts";

const AliasTable = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    model: Type.String({ minLength: 1 }),
    /** Alias of one of the model's adapters. */
    adapter: Type.Optional(Type.String({ minLength: 1 })),
    /** As [models.defaults]; they win over those of the model. */
    defaults: Type.Optional(Type.Object(presetRows, { additionalProperties: false })),
  },
  { additionalProperties: false },
);

export const AliasEntry = Type.Union([Type.String({ pattern: "^[^=]+=.+$" }), AliasTable]);
export type AliasEntry = string | Alias;

/** The parts of an entry. */
type Alias = Readonly<Omit<Static<typeof AliasTable>, "defaults">> & { readonly defaults?: Preset };

/** Splits the short form. */
export function aliasParts(entry: AliasEntry): Alias {
  if (typeof entry !== "string") return entry;
  const at = entry.indexOf("=");
  return { name: entry.slice(0, at), model: entry.slice(at + 1) };
}
