import { itemAt } from "./assert.ts";
import { randomBytes } from "node:crypto";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const ID_CHARS = 24;
/** Random bytes are fetched for many ids at once: one call costs as much as the rest of a small answer. */
const POOL_BYTES = 128 * ID_CHARS;
let pool = new Uint8Array();
let at = 0;

/** Prefixes of the ids that clients see. */
export type IdPrefix =
  | "chatcmpl-"
  | "cmpl-"
  | "resp_"
  | "msg_"
  | "call_"
  | "file-"
  | "sess_"
  | "rerank-"
  | "appr_"
  | "pull_"
  | "req_"
  | "key_";

/** A fresh id such as `chatcmpl-4Fzk…`: the prefix and 24 characters of [0-9A-Za-z], about 142 random bits. */
export function newId(prefix: IdPrefix): string {
  if (at === pool.length) {
    pool = randomBytes(POOL_BYTES);
    at = 0;
  }
  let id: string = prefix;
  for (const end = at + ID_CHARS; at < end; at++) id += ALPHABET[itemAt(pool, at) % ALPHABET.length];
  return id;
}
