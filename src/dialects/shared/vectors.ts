// Vectors of embeddings in the length that a client asks for.

/** Vectors cut to this length and normalized to length 1 again; one that is no longer stays as it is. */
export function truncatedVectors(
  vectors: readonly (readonly number[])[],
  dimensions: number | undefined,
): number[][] {
  return vectors.map((vector) => {
    if (dimensions === undefined || dimensions >= vector.length) return [...vector];
    const head = vector.slice(0, dimensions);
    const length = Math.hypot(...head);
    return length > 0 ? head.map((value) => value / length) : head;
  });
}
