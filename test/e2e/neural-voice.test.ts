// A neural voice in the compiled executable: a folder with networks that know nothing, in the layout of the one that is pulled.

import { expect, test } from "bun:test";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { VOICE_WHEEL } from "../../src/backends/voices.ts";
import { newFolder, runBinary, startServer } from "../helpers/binary.ts";
import { postJson } from "../helpers/post.ts";
import { pitchOf, samplesOf } from "../helpers/sound.ts";
import {
  TINY_NEURAL_RATE,
  TINY_PITCHES,
  TINY_SOUND_SAMPLES,
  writeTinyNeuralVoice,
} from "../helpers/tiny-neural-voice.ts";

/** Samples of a speech and their rate. */
async function spoken(url: string, body: Readonly<Record<string, unknown>>) {
  const response = await postJson(`${url}/v1/audio/speech`, { response_format: "pcm", ...body });
  expect(response.status).toBe(200);
  const rate = Number(response.headers.get("x-audio-sample-rate"));
  return { rate, samples: samplesOf(new Uint8Array(await response.arrayBuffer())) };
}

async function voicesOf(url: string): Promise<readonly string[]> {
  const { voices } = (await (await fetch(`${url}/v1/audio/voices`)).json()) as { voices: { id: string }[] };
  return voices.map(({ id }) => id);
}

const entry = (lines: readonly string[]): string =>
  ["[[models]]", 'model_id = "svc-tiny"', "[[models]]", 'model_id = "voice"', ...lines].join("\n");

test("a folder speaks with the voices that settings give names, and reads numbers", async () => {
  const cwd = newFolder();
  writeTinyNeuralVoice(join(cwd, "voice"));
  const named = ["[models.speech]", 'voices = ["alloy=heart", "nova=emma"]'];
  writeFileSync(join(cwd, "svc.toml"), entry(['kind = "speech"', ...named]));
  const { url, says } = await startServer(["svc.toml"], { cwd });
  await says("Ready.");
  expect(await voicesOf(url)).toEqual(["voice"]);
  const input = "hello hello hello world";
  const pitch = async (voice?: string): Promise<number> => {
    const { rate, samples } = await spoken(url, { input, voice });
    expect(rate).toBe(TINY_NEURAL_RATE);
    return pitchOf(samples, rate);
  };
  for (const [voice, hertz] of [
    [undefined, TINY_PITCHES.heart],
    ["alloy", TINY_PITCHES.heart],
    ["nova", TINY_PITCHES.emma],
    ["emma", TINY_PITCHES.heart], // a name that settings do not have is without effect
  ] as const)
    expect(Math.abs((await pitch(voice)) / hertz - 1)).toBeLessThan(0.06);
  const [said, again] = [await spoken(url, { input: "$2" }), await spoken(url, { input: "two dollars" })];
  expect(said.samples).toEqual(again.samples);
  // Read by letters, a repeated one once, between two pauses.
  expect(said.samples.length).toBe(" two dolars ".length * TINY_SOUND_SAMPLES);
});

test("a network that is damaged is named, and the rest is served", async () => {
  const cwd = newFolder();
  writeTinyNeuralVoice(join(cwd, "voice"));
  truncateSync(join(cwd, "voice", "hibari.onnx"), 700);
  writeFileSync(join(cwd, "svc.toml"), entry(['kind = "speech"']));
  const { url, says, stderr } = await startServer(["svc.toml"], { cwd });
  await says("Ready.");
  expect(stderr()).toMatch(/voice: could not be loaded: .*hibari\.onnx/);
  const refused = await postJson(`${url}/v1/audio/speech`, { input: "hello" });
  expect([refused.status, await refused.json()]).toMatchObject([
    503,
    { error: { code: "model_unavailable" } },
  ]);
  expect((await fetch(`${url}/health`)).status).toBe(200);
});

test("one that is pulled speaks by default in a server that runs", async () => {
  const cache = newFolder();
  const { url, says } = await startServer([], { env: { XDG_CACHE_HOME: cache } });
  await says("Ready.");
  expect(await voicesOf(url)).toEqual(["svc-voice"]);
  writeTinyNeuralVoice(join(cache, "svc/backends", `${VOICE_WHEEL.project}-${VOICE_WHEEL.version}`));
  expect(new Set(await voicesOf(url))).toEqual(new Set(["hibari", "svc-voice"]));
  expect((await spoken(url, { input: "hello" })).rate).toBe(TINY_NEURAL_RATE);
  expect((await spoken(url, { input: "hello", model: "svc-voice" })).rate).toBe(16_000);
  const gone = await runBinary(["rm", "hibari"], { env: { XDG_CACHE_HOME: cache } });
  expect([gone.exit, gone.err]).toEqual([0, ""]);
  expect(await voicesOf(url)).toEqual(["svc-voice"]);
  expect((await spoken(url, { input: "hello" })).rate).toBe(16_000);
});
