import { createHash } from "node:crypto";

/** SHA-256 of a text in UTF-8, lower-case hexadecimal. */
export function textDigest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
