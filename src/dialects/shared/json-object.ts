// Schema of opaque JSON objects, mostly JSON Schemas, that the server passes on unchanged.

import { Type } from "@sinclair/typebox";

/** A field with any JSON object. */
export function jsonObject(description: string) {
  return Type.Record(Type.String(), Type.Unknown(), { description });
}
