// Schema of opaque JSON objects, mostly JSON Schemas, that the server passes on unchanged.

import { Type } from "@sinclair/typebox";
import { MAP_MEMBERS_MAX } from "../../core/limits.ts";

/** A field with any JSON object. */
export function jsonObject(description: string) {
  return Type.Record(Type.String(), Type.Unknown(), { description, maxProperties: MAP_MEMBERS_MAX });
}
