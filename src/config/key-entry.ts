// `[[keys]]`: a key with a name, a role and limits, or a person whom a proxy has signed in. The short form NAME=KEY is a user's key.

import { type Static, Type } from "@sinclair/typebox";
import { accountFields } from "../core/account.ts";

const KeyTable = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    /** The key, or its source. */
    key: Type.Optional(Type.String({ minLength: 1 })),
    /** Instead of a key: the name in `user_header`, or `*`. */
    user: Type.Optional(Type.String({ minLength: 1 })),
    ...accountFields,
  },
  { additionalProperties: false },
);

export const KeyEntry = Type.Union([Type.String({ pattern: "^[^=]+=.+$" }), KeyTable]);
/** The parts of an entry. */
export type KeyParts = Readonly<Omit<Static<typeof KeyTable>, "models">> & {
  readonly models?: readonly string[];
};

/** Splits the short form. */
export function keyParts(entry: string | KeyParts): KeyParts {
  if (typeof entry !== "string") return entry;
  const at = entry.indexOf("=");
  return { name: entry.slice(0, at), key: entry.slice(at + 1) };
}
