// Arithmetic on the media chunks among a sequence's tokens. Pure. `chunks` is in order and without overlap.

import type { MediaChunk } from "./media-backend.ts";

/** The chunk that a token belongs to; undefined for text. */
export function chunkAt(chunks: readonly MediaChunk[], token: number): MediaChunk | undefined {
  return chunks.find(({ at, tokens }) => at <= token && token < at + tokens);
}

/** The longest prefix of at most `count` tokens that splits no chunk. */
export function wholeChunks(chunks: readonly MediaChunk[], count: number): number {
  const cut = chunkAt(chunks, count);
  return cut === undefined ? count : cut.at;
}

/** Position of a token of text, or of a chunk's first token. */
export function positionOf(chunks: readonly MediaChunk[], token: number): number {
  let position = token;
  for (const { at, tokens, positions } of chunks) if (at + tokens <= token) position -= tokens - positions;
  return position;
}

/** The chunks after dropping all tokens before `token`, which must not lie within a chunk. */
export function chunksFrom(chunks: readonly MediaChunk[], token: number): readonly MediaChunk[] {
  return chunks.filter(({ at }) => at >= token).map((chunk) => ({ ...chunk, at: chunk.at - token }));
}

/** The first position from `token` on where a prompt can be cut. */
export function cutFrom(chunks: readonly MediaChunk[], token: number): number {
  const cut = chunkAt(chunks, token);
  return cut === undefined || cut.at === token ? token : cut.at + cut.tokens;
}
