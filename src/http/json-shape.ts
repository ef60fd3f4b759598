// Bounds how deeply and how widely a JSON body is nested before it is parsed: a few bytes each would otherwise become
// objects of a hundred, and recursive code would overflow the stack. Knows brackets and strings, nothing else; what is
// no JSON is the parser's business.

import { ServiceError } from "../core/error.ts";
import { JSON_DEPTH_MAX, JSON_PARTS_MAX } from "./limits.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]); // [ {
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]); // ] }

/** Throws `invalid_request` for JSON text with more levels or more objects and arrays than is allowed. */
export function checkJsonShape(bytes: Uint8Array): void {
  let depth = 0;
  let parts = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      at = endOfString(bytes, at);
    } else if (OPENING.has(byte)) {
      if (++depth > JSON_DEPTH_MAX) throw tooMuch(`is nested more than ${JSON_DEPTH_MAX} levels deep`);
      if (++parts > JSON_PARTS_MAX) throw tooMuch(`has more than ${JSON_PARTS_MAX} objects and arrays`);
    } else if (CLOSING.has(byte)) {
      depth--;
    }
  }
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
