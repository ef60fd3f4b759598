// From a network's spectra to samples: pulses of the pitch and noise, each shaped by its spectrum, and the inverse transform of their
// sum. The layout is that of the voices in voice-pack.ts: 601 bins a frame, 80 frames a second.

import { fourier } from "./fft.ts";

/** Samples a second. */
export const SAMPLE_RATE = 24_000;
/** Samples from frame to frame, and in one. */
const HOP = 300;
const FRAME = 1200;
const BINS = FRAME / 2 + 1;
/** Pitch below which a sound is unvoiced, and highest harmonic, Hz. */
const PITCH_MIN = 40;
const HARMONICS_MAX = 11_000;
/** Largest logarithm of a magnitude that is used. */
const LOG_MAX = 7;

const WINDOW = Float64Array.from(
  { length: FRAME },
  (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / FRAME),
);
/** Sum of the squares of the windows over a sample. */
const WINDOWS_SUM = 1.5;
const TRANSFORM = fourier(FRAME);

/** What the network says about the frames: each BINS rows of one number a frame, and the pitch in Hz. */
export interface Spectra {
  /** Logarithm of the voiced part's magnitude, and its phase as a half turn through tanh. */
  readonly lh: Float32Array;
  readonly theta: Float32Array;
  /** Logarithm of the noise's magnitude. */
  readonly ln: Float32Array;
  /** Logarithm of the free part's magnitude, and its phase. */
  readonly lr: Float32Array;
  readonly phi: Float32Array;
  readonly f0: Float32Array;
}

/** Samples from −1 to 1. The noise starts the same each time, so a text always sounds the same. */
export function waveformOf(spectra: Spectra): Float32Array {
  const frames = spectra.f0.length;
  const pulses = pulsesOf(spectra.f0);
  const noise = gaussians();
  const sum = new Float64Array((frames - 1) * HOP + FRAME);
  const [re, im] = [new Float64Array(FRAME), new Float64Array(FRAME)];
  // Two real frames make one complex transform.
  for (let frame = 0; frame < frames; frame += 2) {
    const second = Math.min(frame + 1, frames - 1);
    cutFrame(pulses, frame, re);
    cutFrame(pulses, second, im);
    TRANSFORM.forward(re, im);
    shape(re, im, (bin, side) => toneOf(spectra, bin * frames + (side === 0 ? frame : second), noise));
    TRANSFORM.forward(re, im); // of the conjugate: the inverse's conjugate
    for (let at = 0; at < FRAME; at++) {
      const weight = (WINDOW[at] ?? 0) / FRAME;
      const place = frame * HOP + at;
      sum[place] = (sum[place] ?? 0) + weight * (re[at] ?? 0);
      if (second > frame) sum[place + HOP] = (sum[place + HOP] ?? 0) - weight * (im[at] ?? 0);
    }
  }
  return withoutWindow(sum, frames);
}

/** Divides by the sum of the squared windows; cuts what lies before the first frame's middle. */
function withoutWindow(sum: Float64Array, frames: number): Float32Array {
  const samples = new Float32Array(frames * HOP);
  for (let at = 0; at < samples.length; at++) {
    const place = at + FRAME / 2;
    const last = Math.floor(place / HOP);
    const isInside = last >= FRAME / HOP - 1 && last < frames;
    samples[at] = (sum[place] ?? 0) / (isInside ? WINDOWS_SUM : weightAt(place, last, frames));
  }
  return samples;
}

/** Sum of the squared windows where frames are missing at an end. */
function weightAt(place: number, last: number, frames: number): number {
  let weight = 0;
  for (let frame = Math.max(0, last - FRAME / HOP + 1); frame <= Math.min(last, frames - 1); frame++)
    weight += (WINDOW[place - frame * HOP] ?? 0) ** 2;
  return Math.max(weight, 1e-11);
}

/** The windowed samples around a frame's middle, mirrored at the ends. */
function cutFrame(signal: Float64Array, frame: number, target: Float64Array): void {
  const last = signal.length - 1;
  for (let at = 0; at < FRAME; at++) {
    const place = Math.abs(frame * HOP + at - FRAME / 2);
    const source = place > last ? Math.max(0, 2 * last - place) : place;
    target[at] = ((signal[source] ?? 0) * (WINDOW[at] ?? 0)) / (FRAME / 4);
  }
}

/** What one bin of a frame is multiplied with, and what is added to it. */
interface Tone {
  readonly cos: number;
  readonly sin: number;
  readonly re: number;
  readonly im: number;
}

function toneOf({ lh, theta, ln, lr, phi }: Spectra, at: number, noise: () => number): Tone {
  const turn = Math.PI * Math.tanh(theta[at] ?? 0);
  const [voiced, noisy, free] = [magnitude(lh[at]), magnitude(ln[at]), magnitude(lr[at])];
  const angle = phi[at] ?? 0;
  return {
    cos: Math.cos(turn) * voiced,
    sin: Math.sin(turn) * voiced,
    re: noisy * noise() + free * Math.cos(angle),
    im: noisy * noise() + free * Math.sin(angle),
  };
}

/**
 * `re`, `im`: the transform of two real frames, replaced by the conjugate of that of the two shaped ones, which has the same form.
 */
function shape(re: Float64Array, im: Float64Array, toneFor: (bin: number, side: 0 | 1) => Tone): void {
  for (let bin = 0; bin < BINS; bin++) {
    const mirror = (FRAME - bin) % FRAME;
    const [a, b, c, d] = [re[bin] ?? 0, im[bin] ?? 0, re[mirror] ?? 0, im[mirror] ?? 0];
    const [x1, y1, x2, y2] = [(a + c) / 2, (b - d) / 2, (b + d) / 2, (c - a) / 2];
    const [first, second] = [toneFor(bin, 0), toneFor(bin, 1)];
    const isReal = bin === 0 || bin === BINS - 1; // a real signal's first and last bin are
    const p = x1 * first.cos - y1 * first.sin + first.re;
    const q = isReal ? 0 : x1 * first.sin + y1 * first.cos + first.im;
    const r = x2 * second.cos - y2 * second.sin + second.re;
    const s = isReal ? 0 : x2 * second.sin + y2 * second.cos + second.im;
    re[bin] = p - s;
    im[bin] = -(q + r);
    if (isReal) continue;
    re[mirror] = p + s;
    im[mirror] = q - r;
  }
}

function magnitude(log = 0): number {
  return Math.exp(Math.min(log, LOG_MAX));
}

/** A pulse a period: all harmonics up to HARMONICS_MAX with the same strength, by the sum of their cosines. */
function pulsesOf(f0: Float32Array): Float64Array {
  const last = f0.length - 1;
  let phase = 0; // in turns
  return Float64Array.from({ length: f0.length * HOP }, (_, at) => {
    const place = (at + 0.5) / HOP - 0.5;
    const [before, share] = [Math.floor(place), place - Math.floor(place)];
    const pitch =
      (f0[Math.max(0, before)] ?? 0) * (1 - share) + (f0[Math.min(last, before + 1)] ?? 0) * share;
    const used = Math.max(pitch, PITCH_MIN);
    phase = (phase + used / SAMPLE_RATE) % 1;
    if (pitch <= PITCH_MIN) return 0;
    const [angle, harmonics] = [2 * Math.PI * phase, Math.floor(HARMONICS_MAX / used) + 0.5];
    const half = 2 * Math.sin(angle / 2);
    return (Math.abs(half) <= 2e-3 ? harmonics : Math.sin(harmonics * angle) / half) - 0.5;
  });
}

/** Normally distributed numbers, always the same ones: xorshift and Box and Muller's method. */
function gaussians(): () => number {
  let state = 0x2545_f491;
  let spare: number | undefined;
  const uniform = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return ((state >>> 0) + 1) / 4_294_967_297;
  };
  return () => {
    if (spare !== undefined) {
      const value = spare;
      spare = undefined;
      return value;
    }
    const radius = Math.sqrt(-2 * Math.log(uniform()));
    const angle = 2 * Math.PI * uniform();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}
