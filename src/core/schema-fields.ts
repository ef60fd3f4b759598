// Kinds of fields that the schemas of several rooms share.

import { type TSchema, Type } from "@sinclair/typebox";

/** Options of an object that may have fields beside those of its schema. */
export const OPEN = { additionalProperties: true } as const;

/** A number of things. */
export const count = (description: string) => Type.Integer({ minimum: 0, description });

/** A size. */
export const bytes = (description: string) => count(`${description}, bytes.`);

/** A field that is always there, and may be null. */
export function nullable<T extends TSchema>(schema: T, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

/** An optional field that may also be null: many programs send null for unset fields. */
export function orNull<T extends TSchema>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}
