// A neural voice with networks that are functions, and the signal that it makes.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fourier } from "../../../src/worker/speech/fft.ts";
import type { OpenNetwork, Tensor } from "../../../src/worker/speech/network.ts";
import { NeuralVoice } from "../../../src/worker/speech/neural.ts";
import { SAMPLE_RATE, type Spectra, waveformOf } from "../../../src/worker/speech/waveform.ts";
import { SPEECH_SOUNDS_MAX } from "../../../src/worker/shared/limits.ts";
import { writeTinyNeuralVoice } from "../../helpers/tiny-neural-voice.ts";
import { pitchOf } from "../../helpers/sound.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-neural-"));
writeTinyNeuralVoice(folder);
afterAll(() => rmSync(folder, { recursive: true }));

/** Spectra of a steady pitch; -20 is silence. */
function steady(frames: number, f0: number, levels: Partial<Record<"lh" | "ln" | "lr", number>>): Spectra {
  const filled = (level: number): Float32Array => new Float32Array(601 * frames).fill(level);
  const { lh = -20, ln = -20, lr = -20 } = levels;
  return {
    lh: filled(lh),
    theta: filled(0),
    ln: filled(ln),
    lr: filled(lr),
    phi: filled(0),
    f0: new Float32Array(frames).fill(f0),
  };
}

const peak = (samples: Float32Array): number =>
  samples.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
const asPcm = (samples: Float32Array): Int16Array => Int16Array.from(samples, (one) => one * 3000);

test("a transform is the sum that defines it, for lengths of every kind", () => {
  for (const length of [1, 2, 3, 7, 12, 60, 1200]) {
    const [re, im] = [0, 1].map(() => Float64Array.from({ length }, (_, at) => Math.sin(at * at + at))) as [
      Float64Array<ArrayBuffer>,
      Float64Array<ArrayBuffer>,
    ];
    const given = re.slice();
    fourier(length).forward(re, im);
    for (const bin of [0, 1, length - 1].filter((one) => one < length)) {
      const turn = (at: number): number => (-2 * Math.PI * ((bin * at) % length)) / length;
      const real = given.reduce((sum, x, at) => sum + x * (Math.cos(turn(at)) - Math.sin(turn(at))), 0);
      expect(Math.abs((re[bin] ?? 0) - real)).toBeLessThan(1e-8);
    }
  }
});

describe("a signal", () => {
  test("has the pitch that the network says, and no sound where it is unvoiced", () => {
    const voiced = waveformOf(steady(41, 220, { lh: 0 }));
    expect(voiced.length).toBe(41 * 300);
    expect(Math.abs(pitchOf(asPcm(voiced), SAMPLE_RATE) / 220 - 1)).toBeLessThan(0.02);
    expect(peak(waveformOf(steady(20, 0, { lh: 0 })))).toBeLessThan(1e-3);
  });

  test("is a cosine of its harmonics: pulses of one strength", () => {
    const samples = waveformOf(steady(40, 240, { lh: 0 })).subarray(3000, 9000); // away from the ends
    const harmonics = Math.floor(11_000 / 240);
    expect((peak(samples) * 300) / harmonics).toBeWithin(0.8, 1.2); // a spectrum of 1 is a cosine of 1/300
  });

  test("has noise as loud as the network says, the same each time", () => {
    const [soft, loud] = [waveformOf(steady(40, 0, { ln: 0 })), waveformOf(steady(40, 0, { ln: 1 }))];
    const power = (samples: Float32Array): number => Math.sqrt(samples.reduce((sum, x) => sum + x * x, 0));
    expect(power(loud) / power(soft)).toBeCloseTo(Math.E, 2);
    expect(waveformOf(steady(40, 0, { ln: 0 }))).toEqual(soft);
  });

  test("may be as short as a frame, and no level makes it infinite", () => {
    expect(waveformOf(steady(1, 200, { lh: 0 })).length).toBe(300);
    expect(waveformOf(steady(0, 200, {})).length).toBe(0);
    expect(waveformOf(steady(5, 200, { lh: 1e9 })).every(Number.isFinite)).toBe(true);
  });
});

describe("a voice", () => {
  /** Networks that note how many sounds they get. */
  function stage() {
    const sounds: number[] = [];
    const opened: number[] = [];
    const open: OpenNetwork = async (file) => {
      opened.push(file.length);
      return async ({ ids, chars }): Promise<Record<string, Tensor>> => {
        if (ids === undefined) return chars === undefined ? {} : { ids: chars };
        sounds.push(ids.data.length);
        const { f0, ...spectra } = steady(4, 200, { lh: -1 });
        const rows = Object.entries(spectra).map(
          ([name, data]) => [name, { data, dims: [1, 601, 4] }] as const,
        );
        return { ...Object.fromEntries(rows), f0: { data: f0, dims: [1, 4] } };
      };
    };
    const voices = {
      heart: { file: "hibari.onnx", isBritish: false },
      emma: { file: "bf_emma.int8.onnx", isBritish: true },
    };
    const voice = (names: Record<string, string> = {}): Promise<NeuralVoice> =>
      NeuralVoice.open({ folder, voices, voice: "heart", names, open });
    return { voice, sounds, opened };
  }

  test("gives its network no more sounds at once than it takes", async () => {
    const { voice, sounds } = stage();
    const speaker = await voice();
    await speaker.say("world ".repeat(300));
    expect(sounds.length).toBeGreaterThan(4);
    expect(Math.max(...sounds)).toBeLessThanOrEqual(SPEECH_SOUNDS_MAX + 2);
    sounds.length = 0;
    await speaker.say("ABCDE".repeat(40));
    expect(Math.max(...sounds)).toBeLessThanOrEqual(SPEECH_SOUNDS_MAX + 2);
  });

  test("is loaded when it is first asked for, once", async () => {
    const { voice, opened } = stage();
    const speaker = await voice({ nova: "emma", toString: "heart" });
    expect(opened).toHaveLength(2); // its network, and that for unknown words
    await Promise.all([speaker.say("hello", "nova"), speaker.say("hello", "nova")]);
    expect(opened).toHaveLength(4);
    await speaker.say("hello", "constructor");
    expect(opened).toHaveLength(4);
  });

  test("of nothing that is said is empty", async () => {
    const speaker = await stage().voice();
    expect((await speaker.say("~ |")).length).toBe(0);
  });

  test("that lacks an output says which", async () => {
    const open: OpenNetwork = async () => async () => ({});
    const voices = { heart: { file: "hibari.onnx", isBritish: false } };
    const speaker = await NeuralVoice.open({ folder, voices, voice: "heart", names: {}, open });
    expect(speaker.say("hello")).rejects.toThrow("no output lh");
  });
});
