// Ogg sounds as samples: the tone that was encoded comes out, at the engine's rate and in one channel.

import { expect, test } from "bun:test";
import { SOUND_RATE } from "../../../src/core/limits.ts";
import { mediaFile } from "../../../src/core/media-file.ts";
import { readSound } from "../../../src/reader/media/sounds.ts";
import { mediaFixture } from "../../helpers/media-fixtures.ts";

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
  expect(samples.length / SOUND_RATE).toBeCloseTo(0.5, 1);
  expect(shareAt(samples, 440)).toBeGreaterThan(0.95);
  expect(await samplesOf(bytes, 0.2)).toHaveLength(0.2 * SOUND_RATE);
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
