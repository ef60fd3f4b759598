import { hash } from "node:crypto";

/** SHA-256 of a text in UTF-8, lower-case hexadecimal. */
export function textDigest(text: string): string {
  return hash("sha256", text);
}
