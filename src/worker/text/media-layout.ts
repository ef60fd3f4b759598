// Where media stand in a sequence's tokens, and what follows from it. Pure. `chunks` is in order and without overlap.

import type { MediaChunk } from "./media-backend.ts";

/** The chunk that a token belongs to; undefined for text. */
export function chunkAt(chunks: readonly MediaChunk[], token: number): MediaChunk | undefined {
  return chunks.find(({ at, tokens }) => at <= token && token < at + tokens);
}

/** The longest beginning of at most `count` tokens that cuts no chunk in two. */
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

/** The chunks from a token on, which begins one or is text, as they are when what comes before it is dropped. */
export function chunksFrom(chunks: readonly MediaChunk[], token: number): readonly MediaChunk[] {
  return chunks.filter(({ at }) => at >= token).map((chunk) => ({ ...chunk, at: chunk.at - token }));
}

/** The first place from `token` on where a prompt can be cut. */
export function cutFrom(chunks: readonly MediaChunk[], token: number): number {
  const cut = chunkAt(chunks, token);
  return cut === undefined || cut.at === token ? token : cut.at + cut.tokens;
}
