// Fourier transform of any length, by its prime factors. Written here: the voice's frames have 1,200 samples, and packages for
// JavaScript do powers of two only.

type Samples = Float64Array<ArrayBuffer>;

interface Complex {
  readonly re: Samples;
  readonly im: Samples;
}

/** A transform of one length. */
export interface Fourier {
  /** Real and imaginary parts in place. */
  forward(re: Samples, im: Samples): void;
}

function factorsOf(length: number): readonly number[] {
  const factors: number[] = [];
  let rest = length;
  for (let factor = 2; rest > 1; factor++) {
    for (; rest % factor === 0; rest /= factor) factors.unshift(factor); // large ones first: rows get long early
  }
  return factors;
}

/** Plans the transform of a length: Stockham's self-sorting algorithm, one pass for each prime factor. */
export function fourier(length: number): Fourier {
  const cos = Float64Array.from({ length }, (_, at) => Math.cos((2 * Math.PI * at) / length));
  const sin = Float64Array.from({ length }, (_, at) => -Math.sin((2 * Math.PI * at) / length));
  const factors = factorsOf(length);
  const spare = { re: new Float64Array(length), im: new Float64Array(length) };

  /** Combines `radix` transforms of `length / (done * radix)` points that lie `done` apart. */
  const pass = (radix: number, done: number, from: Complex, to: Complex): void => {
    const points = length / (done * radix);
    for (let point = 0; point < points; point++) {
      for (let out = 0; out < radix; out++) {
        const target = done * (out + radix * point);
        to.re.fill(0, target, target + done);
        to.im.fill(0, target, target + done);
        for (let leg = 0; leg < radix; leg++) {
          const source = done * (point + points * leg);
          const turn = (out * source) % length;
          addTurned(from, source, to, { at: target, done, cos: cos[turn] ?? 0, sin: sin[turn] ?? 0 });
        }
      }
    }
  };

  return {
    forward(re, im) {
      let [from, to] = [{ re, im }, spare];
      let done = 1;
      for (const radix of factors) {
        pass(radix, done, from, to);
        [from, to] = [to, from];
        done *= radix;
      }
      if (from.re !== re) {
        re.set(from.re);
        im.set(from.im);
      }
    },
  };
}

interface Row {
  /** Where it begins, and its numbers. */
  readonly at: number;
  readonly done: number;
  /** What is added to it is turned by this. */
  readonly cos: number;
  readonly sin: number;
}

function addTurned(from: Complex, source: number, to: Complex, { at, done, cos, sin }: Row): void {
  const { re, im } = from;
  const { re: toRe, im: toIm } = to;
  for (let lane = 0; lane < done; lane++) {
    const a = re[source + lane] ?? 0;
    const b = im[source + lane] ?? 0;
    toRe[at + lane] = (toRe[at + lane] ?? 0) + a * cos - b * sin;
    toIm[at + lane] = (toIm[at + lane] ?? 0) + a * sin + b * cos;
  }
}
