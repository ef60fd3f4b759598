// Schema of opaque JSON objects, mostly JSON Schemas, that the server passes on unchanged.

import { Type } from "@sinclair/typebox";
import { ServiceError } from "../../core/error.ts";
import { isShapely } from "../../core/json-shape.ts";
import { MAP_MEMBERS_MAX } from "../../core/limits.ts";
import { isRecord } from "./check.ts";

/** An object, sent as such or as JSON text. Throws `invalid_request`. */
export function objectOf<T extends object>(
  value: T | string,
  param: string,
): T | Readonly<Record<string, unknown>> {
  if (typeof value !== "string") return value;
  try {
    const json: unknown = isShapely(value) ? JSON.parse(value) : undefined;
    if (isRecord(json)) return json;
  } catch {
    // refused below, as what is no object
  }
  const message = `${param} must be an object, or a string with the JSON text of one`;
  throw new ServiceError("invalid_request", message, { param });
}

/** A field with any JSON object of at most `maxProperties` members. */
export function jsonObject(description?: string, maxProperties = MAP_MEMBERS_MAX) {
  const described = description === undefined ? {} : { description };
  return Type.Record(Type.String(), Type.Unknown(), { ...described, maxProperties });
}
