// JSON objects whose inside this server hands on: JSON Schemas above all.

import { Type } from "@sinclair/typebox";

/** A field that holds any JSON object. */
export function jsonObject(description: string) {
  return Type.Record(Type.String(), Type.Unknown(), { description });
}
