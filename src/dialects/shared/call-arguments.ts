// Arguments of calls: JSON text inside, an object in some dialects, and in a history whatever a model wrote.

import type { Json } from "../../core/json.ts";
import { objectIn } from "./json-object.ts";

/** Arguments as an object; empty if the text is none, as that of a truncated call. */
export function argumentsObject(text: string): Json {
  return objectIn(text) ?? {};
}

/** JSON text of an object, as templates expect it, from a history. What a model wrote otherwise, such as half an object, is one argument. */
export function argumentsText(written: string | object | null | undefined): string {
  if (typeof written !== "string") return JSON.stringify(written ?? {});
  if (written.trim() === "") return "{}";
  return objectIn(written) === undefined ? JSON.stringify({ input: written }) : written;
}
