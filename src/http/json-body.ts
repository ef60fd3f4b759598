// The bytes of a JSON body → its value, within bounds. Pure; runs on the server's thread and on that of large bodies.

import { ServiceError } from "../core/error.ts";
import { checkJsonShape, type JsonShape } from "../core/json-shape.ts";

/** Characters of a field's path in an error. */
const PARAM_CHARS_MAX = 200;

/** The text of a body and what it is made of. Throws `invalid_json`, or `invalid_request` for too much of anything. */
export function readText(bytes: Uint8Array): { readonly text: string; readonly shape: JsonShape } {
  const shape = checkJsonShape(bytes);
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes), shape };
  } catch (cause) {
    throw notJson(bytes.byteLength, cause);
  }
}

/** The value of a text. Throws `invalid_json`, or `invalid_request` for half of a surrogate pair. */
export function parseText(text: string): unknown {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw notJson(text.length, cause);
  }
  if (MAYBE_HALF.test(text) && !isWhole(json)) throw halfPair(placeOfHalf(json) ?? "");
  return json;
}

/** The parser's own message is dropped: it quotes the body. */
function notJson(length: number, cause: unknown): ServiceError {
  const problem = length === 0 ? "is empty" : "is not valid JSON in UTF-8";
  return new ServiceError("invalid_json", `the request body ${problem}; send a JSON object`, { cause });
}

/** How half of a surrogate pair is written; whole pairs begin like it, so what is found is looked at. */
const MAYBE_HALF = /\\u[dD][89a-fA-F]/;

/** Whether no text has half of a surrogate pair: it is no character, and no UTF-8 can say it. */
function isWhole(json: unknown): boolean {
  if (typeof json === "string") return json.isWellFormed();
  if (typeof json !== "object" || json === null) return true;
  if (Array.isArray(json)) return json.every(isWhole);
  return Object.entries(json).every(([key, value]) => key.isWellFormed() && isWhole(value));
}

/** The path of the first text that is not whole; of a name, that of its object. */
function placeOfHalf(json: unknown, path = ""): string | undefined {
  if (typeof json === "string") return json.isWellFormed() ? undefined : path;
  if (typeof json !== "object" || json === null) return undefined;
  const isList = Array.isArray(json);
  for (const [key, value] of Object.entries(json)) {
    if (!key.isWellFormed()) return path;
    if (isWhole(value)) continue;
    return placeOfHalf(value, isList ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`);
  }
  return undefined;
}

function halfPair(path: string): ServiceError {
  const param = path.slice(0, PARAM_CHARS_MAX);
  const message = `${param === "" ? "the body" : param} has an unpaired surrogate (\\ud800 to \\udfff); send the pair or omit it`;
  return new ServiceError("invalid_request", message, param === "" ? {} : { param });
}
