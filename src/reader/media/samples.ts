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

/** At SOUND_RATE, by a windowed sinc that leaves out what that rate cannot hold. */
export function resampled(samples: Float32Array, rate: number): Float32Array {
  if (rate === SOUND_RATE) return samples;
  const common = divisor(rate, SOUND_RATE);
  const [step, phases] = [rate / common, SOUND_RATE / common];
  const scale = Math.min(1, SOUND_RATE / rate);
  const reach = Math.ceil(CROSSINGS / scale);
  const filters = Array.from({ length: phases }, (_, phase) => filterOf(phase / phases, reach, scale));
  const out = new Float32Array(Math.round((samples.length * SOUND_RATE) / rate));
  for (let index = 0; index < out.length; index++) {
    const place = index * step;
    const first = Math.floor(place / phases) - reach;
    const filter = filters[place % phases] ?? new Float32Array();
    let sum = 0;
    for (let tap = Math.max(0, -first); tap < filter.length; tap++)
      sum += (samples[first + tap] ?? 0) * (filter[tap] ?? 0);
    out[index] = sum;
  }
  return out;
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
