import { randomBytes } from "node:crypto";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Prefixes of the ids that clients see. */
export type IdPrefix =
  | "chatcmpl-"
  | "cmpl-"
  | "resp_"
  | "msg_"
  | "call_"
  | "file-"
  | "sess_"
  | "appr_"
  | "req_";

/** A fresh id such as `chatcmpl-4Fzk…`: the prefix and 24 characters of [0-9A-Za-z], about 142 random bits. */
export function newId(prefix: IdPrefix): string {
  let id: string = prefix;
  for (const byte of randomBytes(24)) id += ALPHABET[byte % ALPHABET.length];
  return id;
}
