// Fourier transform of any length, by its prime factors. Written here: the voice's frames have 1,200 samples, and packages for
// JavaScript do powers of two only.

type Samples = Float64Array<ArrayBuffer>;

/** A transform of one length. */
export interface Fourier {
  /** Real and imaginary parts in place. */
  forward(re: Samples, im: Samples): void;
}

function factorsOf(length: number): readonly number[] {
  const factors: number[] = [];
  let rest = length;
  for (let factor = 2; rest > 1; factor++) {
    for (; rest % factor === 0; rest /= factor) factors.push(factor);
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
  const pass = (radix: number, done: number, from: typeof spare, to: typeof spare): void => {
    const points = length / (done * radix);
    for (let point = 0; point < points; point++) {
      for (let lane = 0; lane < done; lane++) {
        for (let out = 0; out < radix; out++) {
          let re = 0;
          let im = 0;
          for (let leg = 0; leg < radix; leg++) {
            const source = lane + done * (point + points * leg);
            const turn = (out * (point + points * leg) * done) % length;
            const [c, s] = [cos[turn] ?? 0, sin[turn] ?? 0];
            const [a, b] = [from.re[source] ?? 0, from.im[source] ?? 0];
            re += a * c - b * s;
            im += a * s + b * c;
          }
          const target = lane + done * (out + radix * point);
          to.re[target] = re;
          to.im[target] = im;
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
