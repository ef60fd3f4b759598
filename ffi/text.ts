// Handles, text and JSON across the C boundary.

import { CString, type Pointer } from "bun:ffi";
import type { Native } from "./library.ts";

/** An address from native code; Bun returns a bigint where a number would be inexact. */
export type Handle = Pointer | bigint;

/** A C string that the library owns. NULL gives "". */
export function nativeText(text: Handle | null): string {
  if (text === null) return "";
  // oxlint-disable-next-line typescript/no-unnecessary-type-conversion -- its type says string, but it is a String object
  return new CString(text).toString();
}

/** UTF-8 with a terminating 0, for `const char *` arguments. */
export function cText(text: string): Uint8Array {
  return Buffer.from(`${text}\0`);
}

/** Reads and frees a malloc'ed text. NULL becomes an exception with the library's reason. */
export function takeText(native: Native, text: Handle | null): string {
  if (text === null) throw new Error(nativeText(native.svc_last_error()));
  try {
    return nativeText(text);
  } finally {
    native.svc_free(text);
  }
}
