// Measures sound: how loud, where in the spectrum, how high.

/** Samples of a frame; 32 ms at 16 kHz, which holds two periods of the lowest voice. */
const FRAME = 512;

/** Samples as numbers from little-endian 16-bit PCM. */
export function samplesOf(pcm: Uint8Array): Int16Array {
  return new Int16Array(pcm.slice().buffer);
}

/** Loudness: the root of the mean square, of 32767. */
export function loudness(samples: Int16Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample ** 2, 0) / Math.max(samples.length, 1));
}

/** Power of one frequency in a frame, by Goertzel's recurrence under a Hann window. */
function power(frame: Int16Array, turnsPerSample: number): number {
  const factor = 2 * Math.cos(2 * Math.PI * turnsPerSample);
  let before = 0;
  let last = 0;
  frame.forEach((sample, i) => {
    const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / frame.length);
    [before, last] = [last, sample * window + factor * last - before];
  });
  return before ** 2 + last ** 2 - factor * before * last;
}

/** Share of the whole power that lies between two frequencies in Hz, over every fourth frame. */
export function shareOfBand(
  samples: Int16Array,
  rate: number,
  [low, high]: readonly [number, number],
): number {
  let inside = 0;
  let whole = 0;
  for (let start = 0; start + FRAME <= samples.length; start += 4 * FRAME) {
    const frame = samples.subarray(start, start + FRAME);
    for (let bin = 0; bin <= FRAME / 2; bin++) {
      const found = power(frame, bin / FRAME);
      const hertz = (bin * rate) / FRAME;
      whole += found;
      if (hertz >= low && hertz <= high) inside += found;
    }
  }
  return inside / whole;
}

/** The pitch of a voice in Hz: the median over all voiced frames, each by the peak of its autocorrelation. */
export function pitchOf(samples: Int16Array, rate: number): number {
  const [shortest, longest] = [Math.floor(rate / 400), Math.ceil(rate / 60)];
  const pitches: number[] = [];
  const loud = loudness(samples);
  for (let start = 0; start + FRAME + longest <= samples.length; start += FRAME) {
    const correlation = (lag: number): number => {
      let [sum, a, b] = [0, 0, 0];
      for (let i = start; i < start + FRAME; i++) {
        const [x, y] = [samples[i] ?? 0, samples[i + lag] ?? 0];
        sum += x * y;
        a += x * x;
        b += y * y;
      }
      return sum / Math.sqrt(a * b + 1);
    };
    if (loudness(samples.subarray(start, start + FRAME)) < loud / 2) continue;
    const found = Array.from({ length: longest - shortest }, (_, i) => correlation(shortest + i));
    const peak = Math.max(...found);
    if (peak < 0.7) continue;
    // The first peak nearly as high is the period; later ones are its multiples.
    const first = found.findIndex(
      (value, i) => value > 0.9 * peak && value >= (found[i - 1] ?? 0) && value >= (found[i + 1] ?? 0),
    );
    pitches.push(rate / (shortest + first));
  }
  pitches.sort((a, b) => a - b);
  return pitches[Math.floor(pitches.length / 2)] ?? 0;
}
