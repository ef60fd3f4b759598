// Seeded random numbers, equal on every machine and in every run, for reproducible models and prompts.

/** A uniform generator over [0, 1) (mulberry32). */
export function uniformSource(seed: number): () => number {
  const next = wordSource(seed);
  return () => next() / 2 ** 32;
}

/** A generator of unsigned 32-bit words (mulberry32). */
export function wordSource(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return (word ^ (word >>> 14)) >>> 0;
  };
}

const TABLE_LENGTH = 65_536;

/** Normal deviates as half-precision bit patterns, fast enough for hundreds of millions of weights. */
export interface NormalSource {
  /** The deviates `fill` draws from, with the given standard deviation. */
  halfTable(deviation: number): Uint16Array; // [65536] f16 bits
  /** Fills `target` with draws from `table`. */
  fill(target: Uint16Array, table: Uint16Array): void;
}

/** Draws come from a table of 65,536 exact deviates: one 32-bit word gives two weights, 595 million take seconds. */
export function normalSource(seed: number): NormalSource {
  const uniform = uniformSource(seed);
  const deviates = Float64Array.from({ length: TABLE_LENGTH }, () => {
    // Box-Muller; 1 - u is never 0, whose logarithm would be infinite.
    return Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  });
  const next = wordSource(seed + 1);
  return {
    halfTable: (deviation) =>
      new Uint16Array(Float16Array.from(deviates, (value) => value * deviation).buffer),
    fill(target, table) {
      for (let index = 0; index < target.length; index += 2) {
        const word = next();
        target[index] = table[word & 0xffff] ?? 0;
        target[index + 1] = table[word >>> 16] ?? 0; // ignored past the end of an odd-sized target
      }
    },
  };
}
