// Reading of signatures and of heads that may end anywhere.

import { closeSync, openSync, readSync } from "node:fs";

/** The first bytes of a file; fewer where it has fewer. */
export function startOf(path: string, bytes: number): Uint8Array {
  const buffer = new Uint8Array(bytes);
  const file = openSync(path, "r");
  try {
    let done = 0;
    while (done < bytes) {
      const read = readSync(file, buffer, done, bytes - done, done);
      if (read === 0) break;
      done += read;
    }
    return buffer.subarray(0, done);
  } finally {
    closeSync(file);
  }
}

/** Whether these bytes stand there; each character is one byte. */
export function has(view: DataView, at: number, bytes: string): boolean {
  if (at + bytes.length > view.byteLength) return false;
  for (let index = 0; index < bytes.length; index++)
    if (view.getUint8(at + index) !== bytes.codePointAt(index)) return false;
  return true;
}

/** A file that ends in the middle of its head says nothing: reading beyond the end of a view throws RangeError. */
export function read<T>(reader: (view: DataView) => T, view: DataView): T | undefined {
  try {
    return reader(view);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
