// Bounds how deeply and how widely a JSON body is nested before it is parsed: a few bytes each would otherwise become
// objects of a hundred, names of members are kept for each, and recursive code would overflow the stack. Knows brackets, commas,
// colons and strings, nothing else; what is no JSON is the parser's business.

import { ServiceError } from "./error.ts";
import { JSON_DEPTH_MAX, JSON_ENTRIES_MAX, JSON_MEMBERS_MAX, JSON_PARTS_MAX } from "./limits.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

/** What a body is made of. */
export interface JsonShape {
  /** Objects and arrays. */
  readonly parts: number;
  /** Members of objects. */
  readonly members: number;
  /** Members of objects and elements of arrays, less one for each part. */
  readonly entries: number;
}

/** Counts what JSON text is made of. Throws `invalid_request` for more levels, parts, members or entries than are allowed. */
export function checkJsonShape(bytes: Uint8Array): JsonShape {
  let depth = 0;
  let parts = 0;
  let members = 0;
  let entries = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    switch (byte) {
      case QUOTE:
        at = endOfString(bytes, at);
        break;
      case COMMA:
        if (++entries > JSON_ENTRIES_MAX) throw tooMuch(`has more than ${JSON_ENTRIES_MAX} values`);
        break;
      case COLON:
        if (++members > JSON_MEMBERS_MAX)
          throw tooMuch(`has more than ${JSON_MEMBERS_MAX} members of objects`);
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > JSON_DEPTH_MAX) throw tooMuch(`is nested more than ${JSON_DEPTH_MAX} levels deep`);
        if (++parts > JSON_PARTS_MAX) throw tooMuch(`has more than ${JSON_PARTS_MAX} objects and arrays`);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth--;
        break;
      default:
    }
  }
  return { parts, members, entries };
}

/** Index of the closing quote of the string that begins at `start`; the length if it is missing. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let end = start; ;) {
    end = bytes.indexOf(QUOTE, end + 1); // most of a large body is a few long strings
    if (end < 0) return bytes.length;
    let slashes = 0;
    while (bytes[end - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
}

function tooMuch(problem: string): ServiceError {
  return new ServiceError("invalid_request", `the request body ${problem}; send less in one request`);
}

/** Whether JSON text that a body holds in a string keeps the bounds of bodies too. */
export function isShapely(text: string): boolean {
  if (text.length <= JSON_DEPTH_MAX) return true;
  try {
    checkJsonShape(Buffer.from(text));
    return true;
  } catch {
    return false;
  }
}
