// Ogg sounds as samples: the tone that was encoded comes out, at the engine's rate and in one channel.

import { expect, test } from "bun:test";
import { SOUND_RATE } from "../../../src/core/limits.ts";
import { checkedMedium } from "../../../src/core/media.ts";
import { mediaFile } from "../../../src/core/media-file.ts";
import { readSound } from "../../../src/reader/media/sounds.ts";
import { WAV_HEADER_BYTES, wavHeader } from "../../../src/core/wav.ts";
import { mediaFixture } from "../../helpers/media-fixtures.ts";
import { loudness } from "../../helpers/sound.ts";

async function samplesOf(bytes: Uint8Array, secondsMax = 10): Promise<Int16Array> {
  const reply = await readSound({ data: bytes.toBase64(), secondsMax });
  if ("problem" in reply) throw new Error(reply.problem);
  return new Int16Array(Uint8Array.fromBase64(reply.samples).buffer);
}

/** Share of the samples' energy that lies at a frequency. */
function shareAt(samples: Int16Array, hertz: number): number {
  const turn = (2 * Math.PI * hertz) / SOUND_RATE;
  let [real, imaginary, energy] = [0, 0, 0];
  for (const [at, sample] of samples.entries()) {
    real += sample * Math.cos(turn * at);
    imaginary += sample * Math.sin(turn * at);
    energy += sample * sample;
  }
  return (2 * (real * real + imaginary * imaginary)) / (energy * samples.length);
}

test.each([
  ["tone.opus", "Opus"],
  ["tone.ogg", "Vorbis"],
])("%s is its tone", async (name, format) => {
  const bytes = mediaFixture(name);
  const file = mediaFile(bytes);
  expect(file).toMatchObject({ modality: "audio", format, isForeign: true });
  expect(file?.modality === "audio" ? file.seconds : 0).toBeCloseTo(0.5, 2);
  const samples = await samplesOf(bytes);
  expect(samples).toHaveLength(SOUND_RATE / 2);
  expect(shareAt(samples, 440)).toBeGreaterThan(0.95);
  expect(await samplesOf(bytes, 0.2)).toHaveLength(0.2 * SOUND_RATE);
});

/** A tone of 3 kHz at another rate, left, and silence on the right. */
function stereo(rate: number): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(WAV_HEADER_BYTES + rate * 4);
  file.set(wavHeader(rate, rate * 4));
  const view = new DataView(file.buffer);
  view.setUint16(22, 2, true); // channels
  view.setUint32(28, rate * 4, true);
  view.setUint16(32, 4, true);
  for (let at = 0; at < rate; at++)
    view.setInt16(
      WAV_HEADER_BYTES + at * 4,
      Math.round(20_000 * Math.sin((2 * Math.PI * 3000 * at) / rate)),
      true,
    );
  return file;
}

test.each([8000, 22_050, 44_100, 48_000, 96_000])(
  "samples at %i Hz are those at the engine's rate",
  async (rate) => {
    const bytes = stereo(rate);
    expect(checkedMedium(bytes, "audio", {}, "sound")).toMatchObject({ seconds: 1, isConverted: true });
    expect(checkedMedium(bytes, "audio", { keepsSounds: true }, "sound").isConverted).toBe(false);
    const samples = await samplesOf(bytes);
    expect(samples).toHaveLength(SOUND_RATE);
    for (let at = 200; at < SOUND_RATE - 200; at++) {
      const wanted = 10_000 * Math.sin((2 * Math.PI * 3000 * at) / SOUND_RATE);
      if (Math.abs((samples[at] ?? 0) - wanted) > 20)
        throw new Error(`sample ${at} is ${samples[at]}, not ${wanted}`);
    }
  },
);

test("a tone that the engine's rate cannot hold is left out, not heard as another one", async () => {
  const bytes = stereo(48_000);
  const view = new DataView(bytes.buffer);
  for (let at = 0; at < 48_000; at++)
    view.setInt16(
      WAV_HEADER_BYTES + at * 4,
      Math.round(20_000 * Math.sin((2 * Math.PI * 11_000 * at) / 48_000)),
      true,
    );
  expect(loudness((await samplesOf(bytes)).subarray(200, -200))).toBeLessThan(3);
});

test.each(["tone.opus", "tone.ogg"])("%s, cut off or damaged, is no crash", async (name) => {
  const bytes = mediaFixture(name);
  for (const length of [0, 30, 60, 200, Math.floor(bytes.length / 2)]) {
    const reply = await readSound({ data: bytes.subarray(0, length).toBase64(), secondsMax: 10 });
    expect(Object.keys(reply)).toHaveLength(1);
  }
  const changed = new Uint8Array(bytes).fill(0xff, 100, 400);
  expect(await readSound({ data: changed.toBase64(), secondsMax: 10 })).toBeObject();
});
