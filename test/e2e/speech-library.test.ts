// Voices of an operator's own sherpa-onnx library. svc does not bring it, so SVC_SHERPA_LIBRARY has to name it.

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runBinary, startServer } from "../helpers/binary.ts";
import { ask, CAPITAL, completeText } from "../helpers/chat-client.ts";
import { postJson } from "../helpers/post.ts";
import { samplesOf, shareOfBand } from "../helpers/sound.ts";
import { TINY_VOICE_RATE, toneOf, writeTinyVoice } from "../helpers/tiny-voice.ts";

const LIBRARY = process.env["SVC_SHERPA_LIBRARY"];
if (LIBRARY === undefined) console.log("sherpa-onnx is not tested: SVC_SHERPA_LIBRARY names no library");

/** A folder with a voice, and a configuration that serves it beside the built-in model. */
function newVoice(library = LIBRARY ?? "none.so"): string {
  const cwd = newFolder();
  writeTinyVoice(join(cwd, "voice"));
  const lines = [
    "[[models]]",
    'model_id = "svc-tiny"',
    "[[models]]",
    'model_id = "voice"',
    'kind = "speech"',
  ];
  writeFileSync(join(cwd, "svc.toml"), [...lines, `format.speech_library = "${library}"`].join("\n"));
  return cwd;
}

function speak(url: string, input: string): Promise<Response> {
  return postJson(`${url}/v1/audio/speech`, { input, response_format: "pcm" });
}

function command(url: string, name: string): Promise<Response> {
  return postJson(`${url}/v1/models/${name}`, { model_id: "voice" });
}

/** Starts a server whose voice cannot be loaded: it says why and serves the rest. */
async function servesWithoutVoice(cwd: string, reason: string): Promise<void> {
  const server = await startServer(["svc.toml"], { cwd });
  await server.says("Ready.");
  expect(server.stderr()).toMatch(new RegExp(`voice: could not be loaded: .*${reason}`));
  const refused = await speak(server.url, "hello");
  expect([refused.status, await refused.json()]).toMatchObject([
    503,
    { error: { code: "model_unavailable" } },
  ]);
  expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
}

describe.skipIf(LIBRARY === undefined)("with the library", () => {
  test("a voice speaks, and no other is offered", async () => {
    const server = await startServer(["svc.toml"], { cwd: newVoice() });
    await server.says("Ready.");
    const response = await speak(server.url, "aaaaaaaaaa. zzzz");
    expect(response.status).toBe(200);
    expect(response.headers.get("x-audio-sample-rate")).toBe(String(TINY_VOICE_RATE));
    const samples = samplesOf(new Uint8Array(await response.arrayBuffer()));
    expect(samples.length / TINY_VOICE_RATE).toBeGreaterThan(0.6);
    const [low, high] = [toneOf("a") - 60, toneOf("z") + 60];
    expect(shareOfBand(samples, TINY_VOICE_RATE, [low, high])).toBeGreaterThan(0.8);
    const { data } = await (await fetch(`${server.url}/v1/models`)).json();
    expect(data.map(({ id, kind }: { id: string; kind: string }) => [id, kind])).toEqual([
      ["svc-tiny", "text"],
      ["voice", "speech"],
    ]);
  });

  test("a text without a word is refused", async () => {
    const server = await startServer(["svc.toml"], { cwd: newVoice() });
    const response = await speak(server.url, "…");
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: "input" } });
  });

  test("a damaged voice, which ends the library's process, is that voice's error alone", async () => {
    const cwd = newVoice();
    const server = await startServer(["svc.toml"], { cwd });
    await server.says("Ready.");
    await command(server.url, "unload");
    writeFileSync(join(cwd, "voice/model.onnx"), "no model at all");
    const refused = await speak(server.url, "hello");
    expect([refused.status, await refused.json()]).toMatchObject([
      503,
      { error: { code: "model_unavailable" } },
    ]);
    await server.says("voice: could not be loaded: the engine process ended while loading (signal SIGABRT)");
    expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
    writeTinyVoice(join(cwd, "voice"));
    expect((await command(server.url, "reload")).status).toBe(200);
    expect((await speak(server.url, "hello")).status).toBe(200);
  });

  test("one that is damaged from the start is unavailable; the others are served", async () => {
    const cwd = newVoice();
    writeFileSync(join(cwd, "voice/model.onnx"), "no model at all");
    await servesWithoutVoice(cwd, "the engine process ended while loading");
  });
});

describe("without it", () => {
  test("what is no library is an error of that voice", async () => {
    await servesWithoutVoice(newVoice("voice/tokens.txt"), "voice");
  });

  for (const [lines, words] of [
    [['model_id = "voice"', 'kind = "speech"'], "format.speech_library"],
    [['model_id = "voice"', 'kind = "speech"', 'format.speech_library = "absent.so"'], "absent.so"],
    [
      ['model_id = "none"', 'kind = "speech"', 'format.speech_library = "voice/tokens.txt"'],
      "no such folder",
    ],
    [
      ['model_id = "empty"', 'kind = "speech"', 'format.speech_library = "voice/tokens.txt"'],
      "no such folder",
    ],
    [['model_id = "svc-tiny"', 'format.speech_library = "voice/tokens.txt"'], 'Add kind = "speech"'],
    [['model_id = "flite:slt"', 'format.speech_library = "voice/tokens.txt"'], "needs no library"],
    [['model_id = "a.gguf"', 'kind = "speech"'], "GGUF files cannot speak"],
  ] as const) {
    test(`${lines.join(", ")} is a problem of the configuration`, async () => {
      const cwd = newVoice();
      writeFileSync(join(cwd, "svc.toml"), ["[[models]]", ...lines].join("\n"));
      const { exit, err } = await runBinary(["config", "check", "svc.toml"], { cwd });
      expect([exit, err]).toEqual([2, expect.stringContaining(words)]);
    });
  }
});
