// Bodies that may not grow beyond a bound.

/** Pieces of a body, which is cancelled as soon as it has more bytes than `bytesMax`: then `tooLarge` is thrown. */
export async function boundedPieces<Piece extends Uint8Array>(
  body: AsyncIterable<Piece> | null,
  bytesMax: number,
  tooLarge: () => Error,
): Promise<readonly Piece[]> {
  const pieces: Piece[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.byteLength;
    if (bytes > bytesMax) throw tooLarge();
    pieces.push(piece);
  }
  return pieces;
}

/** The same as text in UTF-8. */
export async function boundedText(...bounded: Parameters<typeof boundedPieces>): Promise<string> {
  return new TextDecoder().decode(Buffer.concat(await boundedPieces(...bounded)));
}
