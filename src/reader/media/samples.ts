// Arithmetic of samples: channels become one, rates become the engine's.

import { SOUND_RATE } from "../../core/limits.ts";

/** Shares of the speakers of six and eight channels: front 0.71, centre 1, the others 0.5, low tones none. ITU-R BS.775-3. */
const FRONT = Math.SQRT1_2;
const SHARES: Readonly<Record<"WAV" | "Vorbis", Readonly<Record<number, readonly number[]>>>> = {
  WAV: { 6: [FRONT, FRONT, 1, 0, 0.5, 0.5], 8: [FRONT, FRONT, 1, 0, 0.5, 0.5, 0.5, 0.5] },
  Vorbis: { 6: [FRONT, 1, FRONT, 0.5, 0.5, 0], 8: [FRONT, 1, FRONT, 0.5, 0.5, 0.5, 0.5, 0] },
};

/** One channel, by the order in which a format has its speakers. */
export function folded(channels: readonly Float32Array[], order: "WAV" | "Vorbis" = "WAV"): Float32Array {
  const [first = new Float32Array()] = channels;
  if (channels.length < 2) return first;
  const shares = SHARES[order][channels.length] ?? channels.map(() => 1);
  const whole = shares.reduce((sum, share) => sum + share, 0);
  const mono = new Float32Array(first.length);
  for (const [index, channel] of channels.entries()) {
    const share = (shares[index] ?? 0) / whole;
    for (let at = 0; at < mono.length; at++) mono[at] = (mono[at] ?? 0) + (channel[at] ?? 0) * share;
  }
  return mono;
}

/** Zero crossings of the filter on each side of its middle. */
const CROSSINGS = 16;

/** Samples that are resampled at a time, of the source. */
const PIECE_MAX = 1 << 16;

/**
 * A sound as samples of 16 bits of one channel at SOUND_RATE, made while it is decoded: at its own rate a long one would take ten times the
 * memory. By a windowed sinc that leaves out what that rate cannot hold.
 */
export class Resampler {
  private readonly rate: number;
  private readonly step: number;
  private readonly phases: number;
  private readonly reach: number;
  private readonly filters: readonly Float32Array[];
  private readonly made: Int16Array[] = [];
  private count = 0; // of made samples
  private rest = new Float32Array();
  private start: number; // place of its first sample in the source
  private taken = 0; // samples of the source

  constructor(rate: number) {
    const common = divisor(rate, SOUND_RATE);
    const scale = Math.min(1, SOUND_RATE / rate);
    const [phases, reach] = [SOUND_RATE / common, Math.ceil(CROSSINGS / scale)];
    this.rate = rate;
    this.step = rate / common;
    this.phases = phases;
    this.reach = reach;
    this.filters = Array.from({ length: phases }, (_, phase) => filterOf(phase / phases, reach, scale));
    this.start = -reach;
    this.rest = new Float32Array(reach); // silence before the sound
  }

  /** Seconds of the source so far. */
  get seconds(): number {
    return this.taken / this.rate;
  }

  push(samples: Float32Array): void {
    for (let at = 0; at < samples.length; at += PIECE_MAX) this.piece(samples.subarray(at, at + PIECE_MAX));
    this.taken += samples.length;
  }

  /** All samples, of at most `secondsMax` seconds. */
  end(secondsMax: number): Int16Array {
    const whole = Math.round((this.taken * SOUND_RATE) / this.rate);
    this.piece(new Float32Array(2 * this.reach + 2)); // silence behind it
    const all = new Int16Array(Math.min(whole, Math.floor(secondsMax * SOUND_RATE)));
    let at = 0;
    for (const piece of this.made) {
      all.set(piece.subarray(0, all.length - at), at);
      at += piece.length;
      if (at >= all.length) break;
    }
    return all;
  }

  private piece(samples: Float32Array): void {
    const source = new Float32Array(this.rest.length + samples.length);
    source.set(this.rest);
    source.set(samples, this.rest.length);
    const taps = 2 * this.reach + 2;
    // The last sample whose filter lies within what is there.
    const last = Math.floor(
      ((this.start + source.length - taps + this.reach + 1) * this.phases - 1) / this.step,
    );
    const out = new Int16Array(Math.max(0, last + 1 - this.count));
    for (let index = 0; index < out.length; index++) out[index] = this.sampleAt(source, this.count + index);
    this.made.push(out);
    this.count += out.length;
    const needed = Math.floor((this.count * this.step) / this.phases) - this.reach;
    this.rest = source.slice(Math.max(0, needed - this.start));
    this.start = Math.max(this.start, needed);
  }

  private sampleAt(source: Float32Array, index: number): number {
    const place = index * this.step;
    const first = Math.floor(place / this.phases) - this.reach - this.start;
    const filter = this.filters[place % this.phases] ?? new Float32Array();
    let sum = 0;
    for (let tap = 0; tap < filter.length; tap++) sum += (source[first + tap] ?? 0) * (filter[tap] ?? 0);
    return Number.isFinite(sum) ? Math.round(Math.max(-1, Math.min(1, sum)) * 32_767) : 0;
  }
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}

/** Weights of the samples around a place that lies so far behind one of them. */
function filterOf(behind: number, reach: number, scale: number): Float32Array {
  return Float32Array.from({ length: reach * 2 + 2 }, (_, tap) => {
    const distance = (tap - reach - behind) * scale;
    if (Math.abs(distance) >= CROSSINGS) return 0;
    const window = 0.5 + 0.5 * Math.cos((Math.PI * distance) / CROSSINGS);
    const sinc = distance === 0 ? 1 : Math.sin(Math.PI * distance) / (Math.PI * distance);
    return sinc * window * scale;
  });
}
