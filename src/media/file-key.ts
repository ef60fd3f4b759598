// Names converted files: clients send a conversation's files again with every turn.

import { createHash } from "node:crypto";

/** Names what becomes of a file within such a bound. */
export function fileKey(bytes: Uint8Array, most: number): string {
  return createHash("sha256").update(bytes).update(`${most}`).digest("base64");
}
