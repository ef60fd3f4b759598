// Schema of opaque JSON objects, mostly JSON Schemas, that the server passes on unchanged.

import { Type } from "@sinclair/typebox";
import { ServiceError } from "../../core/error.ts";
import { isShapely } from "../../core/json-shape.ts";
import { isObject, type Json, jsonIn } from "../../core/json.ts";
import { MAP_MEMBERS_MAX } from "../../core/limits.ts";

/** An object, sent as such or as JSON text. Throws `invalid_request`. */
export function objectOf<T extends object>(value: T | string, param: string): T | Json {
  if (typeof value !== "string") return value;
  const json = objectIn(value);
  if (json !== undefined) return json;
  const message = `${param} must be an object, or a string with the JSON text of one`;
  throw new ServiceError("invalid_request", message, { param });
}

/** The object of a JSON text; undefined where it is none, or nested too deep. */
export function objectIn(text: string): Json | undefined {
  const json = isShapely(text) ? jsonIn(text) : undefined;
  return isObject(json) ? json : undefined;
}

/** A field with any JSON object of at most `maxProperties` members. */
export function jsonObject(description?: string, maxProperties = MAP_MEMBERS_MAX) {
  const described = description === undefined ? {} : { description };
  return Type.Record(Type.String(), Type.Unknown(), { ...described, maxProperties });
}
