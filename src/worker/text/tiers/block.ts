// Blocks: runs of tokens whose KV cells are kept outside the cache, and their keys. A key stands for all that cells depend
// on: model, library, adapter, and every token up to the end of the block. States have keys derived from those of blocks.
// Copies have the type of the cache: a type of their own would make an answer depend on whether its prompt was restored.

import { createHash, hash } from "node:crypto";

/** Tokens of a block. Smaller ones lose less at the end of a prompt, larger ones need fewer files and lookups. */
export const BLOCK_TOKENS = 32;

/** SHA-256 as hexadecimal digits. */
export type BlockKey = string & { readonly __brand: "BlockKey" };

/** The key before the first block of a prompt. */
export function rootKey(identity: string): BlockKey {
  return hash("sha256", identity) as BlockKey;
}

/** The key of the state after a block. */
export function stateKey(block: BlockKey): BlockKey {
  return createHash("sha256").update("state").update(block).digest("hex") as BlockKey;
}

/** The key of the state some tokens after a block. */
export function tailKey(block: BlockKey): BlockKey {
  return createHash("sha256").update("tail").update(block).digest("hex") as BlockKey;
}

/** The key of the prefixes used last. */
export function recentKey(root: BlockKey): BlockKey {
  return createHash("sha256").update("recent").update(root).digest("hex") as BlockKey;
}

/** Keys of the whole blocks of a sequence, up to its first image or audio: tokens of media are below 0. */
export function blockKeys(root: BlockKey, tokens: Int32Array): readonly BlockKey[] {
  const media = tokens.findIndex((token) => token < 0);
  const count = Math.floor((media < 0 ? tokens.length : media) / BLOCK_TOKENS);
  const keys: BlockKey[] = [];
  let before = root;
  for (let i = 0; i < count; i++) {
    const block = tokens.subarray(i * BLOCK_TOKENS, (i + 1) * BLOCK_TOKENS);
    const bytes = new Uint8Array(block.buffer, block.byteOffset, block.byteLength);
    before = createHash("sha256").update(before).update(bytes).digest("hex") as BlockKey;
    keys.push(before);
  }
  return keys;
}
