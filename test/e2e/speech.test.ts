// Speech by the compiled executable, with the built-in voices.

import { describe, expect, test } from "bun:test";
import { hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { BadRequestError } from "openai";
import { defined } from "../../src/core/defined.ts";
import { fileServer, newFolder, runBinary, type Server, startServer } from "../helpers/binary.ts";
import { ask, CAPITAL, completeText } from "../helpers/chat-client.ts";
import { openAi } from "../helpers/official/openai.ts";
import { postJson } from "../helpers/post.ts";
import { untilInFlight, valueOf } from "../helpers/prometheus.ts";
import { loudness, pitchOf, samplesOf, shareOfBand } from "../helpers/sound.ts";
import { until } from "../helpers/until.ts";

const SENTENCE = "The quick brown fox jumps over the lazy dog.";
const LONG = `${SENTENCE} `.repeat(1000);
const RATE = 16_000;

const server = fileServer();

function speak(
  url: string,
  body: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<Response> {
  return postJson(`${url}/v1/audio/speech`, body, defined({ signal }));
}

async function bytesOf(response: Response): Promise<Uint8Array> {
  expect(response.status).toBe(200);
  return new Uint8Array(await response.arrayBuffer());
}

async function spokenSecs(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return valueOf(text, "svc_speech_seconds_total", { model: "svc-voice" }) ?? 0;
}

async function command(url: string, name: string, model_id: string): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ model_id });
  return (await fetch(`${url}/v1/models/${name}`, { method: "POST", headers, body })).json();
}

/** Milliseconds until the first byte of sound, and all of it. */
async function timed(
  url: string,
  input: string,
): Promise<{ readonly firstMs: number; readonly bytes: number }> {
  const begin = performance.now();
  const response = await speak(url, { input, response_format: "pcm" });
  let firstMs = 0;
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    if (bytes === 0) firstMs = performance.now() - begin;
    bytes += chunk.byteLength;
  }
  return { firstMs, bytes };
}

test("a sentence has the duration, the spectrum and the pitch of a voice", async () => {
  const response = await speak(server().url, { input: SENTENCE });
  expect(response.headers.get("content-type")).toBe("audio/wav");
  expect(response.headers.get("x-audio-sample-rate")).toBe(String(RATE));
  const wav = Buffer.from(await bytesOf(response));
  expect(wav.readUInt32LE(24)).toBe(RATE);
  expect(wav.readUInt32LE(40)).toBe(wav.byteLength - 44);
  const samples = samplesOf(wav.subarray(44));
  const seconds = samples.length / RATE;
  expect(seconds).toBeGreaterThan(2.2);
  expect(seconds).toBeLessThan(3.6);
  expect(loudness(samples)).toBeGreaterThan(1000);
  expect(shareOfBand(samples, RATE, [80, 4000])).toBeGreaterThan(0.9);
  expect(pitchOf(samples, RATE)).toBeGreaterThan(140);
  expect(pitchOf(samples, RATE)).toBeLessThan(260);
});

test("voices are listed under the names by which they speak", async () => {
  const { voices } = await (await fetch(`${server().url}/v1/audio/voices`)).json();
  expect(voices.length).toBeGreaterThan(0);
  for (const { id } of voices) {
    const spoken = await speak(server().url, { input: "Hi.", voice: id });
    expect([id, spoken.status]).toEqual([id, 200]);
    await spoken.body?.cancel();
  }
});

test("the voice costs nothing until somebody wants it, and chat does not notice it", async () => {
  const own = await startServer();
  await own.says("Ready.");
  expect(own.enginePids()).toHaveLength(1);
  expect(await command(own.url, "status", "svc-voice")).toMatchObject({ status: "unloaded" });
  await bytesOf(await speak(own.url, { input: "Hello." }));
  expect(own.enginePids()).toHaveLength(2);
  expect(await command(own.url, "status", "svc-voice")).toMatchObject({ status: "loaded" });
  expect(await completeText(own.url, ask(CAPITAL))).toBe(CAPITAL.answer);
});

test("sound comes before the speech is made, and early", async () => {
  await bytesOf(await speak(server().url, { input: "Hello." })); // it is loaded
  const response = await speak(server().url, { input: LONG, response_format: "pcm" });
  const reader = response.body?.getReader();
  expect((await reader?.read())?.value?.byteLength).toBeGreaterThan(RATE);
  await reader?.cancel();
  const { firstMs } = await timed(server().url, `${SENTENCE} ${SENTENCE} ${SENTENCE}`);
  console.log(`first byte of speech after ${firstMs.toFixed(0)} ms`);
});

test("eight at the same time are all spoken, whole", async () => {
  const text = `${SENTENCE} Hello, how are you today? ${SENTENCE}`;
  const alone = await timed(server().url, text);
  const all = await Promise.all(Array.from({ length: 8 }, () => timed(server().url, text)));
  for (const { bytes } of all) expect(bytes).toBe(alone.bytes); // its noise differs from time to time, its length does not
  const firsts = all.map(({ firstMs }) => firstMs.toFixed(0)).join(", ");
  console.log(
    `first bytes of eight speeches after ${firsts} ms; of one alone after ${alone.firstMs.toFixed(0)} ms`,
  );
});

test("what a client does not read is not made, and one that leaves ends it", async () => {
  const own = await startServer();
  const short = { input: `${SENTENCE} `.repeat(3) };
  await bytesOf(await speak(own.url, short));
  const shortSecs = await spokenSecs(own.url);
  const body = JSON.stringify({ input: LONG });
  const client = connect(Number(new URL(own.url).port), "127.0.0.1"); // fetch would read ahead
  client.pause();
  client.write(
    `POST /v1/audio/speech HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  let [all, others] = [shortSecs, 1];
  await until("the speech waits for its reader", async () => {
    await bytesOf(await speak(own.url, short)); // pieces of both are spoken in turn
    others++;
    const before = all;
    all = await spokenSecs(own.url);
    const hasBegun = all > others * shortSecs + 1;
    return hasBegun && all - before < shortSecs + 1;
  });
  expect(all - others * shortSecs).toBeLessThan(1000); // of nearly 3000 seconds
  client.destroy();
  expect(await command(own.url, "unload", "svc-voice")).toMatchObject({ status: "unloaded" }); // nobody uses it any more
  await bytesOf(await speak(own.url, { input: "Hello again." }));
}, 300_000);

describe("texts", () => {
  for (const [input, words] of [
    ["", "must not be empty"],
    [" \n ", "white space"],
    ["日本語のテキスト", "script"],
    ["Привет, как дела?", "script"],
    ["👍🎉", "no letter"],
    ["?!... —", "no letter"],
    ["\u0000\u0001", "no letter"],
    ["a".repeat(70_000), "65536"],
  ] as const) {
    test(`${JSON.stringify(input).slice(0, 30)} is refused with a reason`, async () => {
      const response = await speak(server().url, { input });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { param: "input", message: expect.stringContaining(words) },
      });
    });
  }

  test("of several scripts are spoken as far as they can be", async () => {
    const samples = async (input: string) =>
      samplesOf(await bytesOf(await speak(server().url, { input, response_format: "pcm" })));
    const plain = (await samples("Hello there, world.")).length;
    const mixed = (await samples("Hello there, 世界 world 👍.")).length;
    expect(Math.abs(mixed - plain) / RATE).toBeLessThan(0.5);
    for (const input of [
      "5",
      "%",
      "C'est déjà l'été.",
      "a".repeat(300),
      "9".repeat(300),
      "<b>&amp;</b>",
      "A\u0000B",
    ]) {
      expect(loudness(await samples(input)), input.slice(0, 20)).toBeGreaterThan(300);
    }
  });

  test("of a hundred sentences are spoken whole", async () => {
    const text = "Hello. ".repeat(100);
    const bytes = await bytesOf(await speak(server().url, { input: text, response_format: "pcm" }));
    expect(bytes.byteLength / 2 / RATE).toBeGreaterThan(60);
  }, 300_000);
});

describe("kal16, which says a text the same to the last bit", () => {
  test("has pcm that is the data of the WAV file, and has not changed", async () => {
    const own = await startServer(["-m", "flite:kal16"]);
    const body = { model: "default", input: `${SENTENCE} Hello!` };
    const wav = await bytesOf(await speak(own.url, { ...body, response_format: "wav" }));
    const pcm = await bytesOf(await speak(own.url, { ...body, response_format: "pcm" }));
    expect(Buffer.compare(wav.subarray(44), pcm)).toBe(0);
    expect(hash("sha256", pcm)).toBe("d6facbd1cb8f59b615c35813c8c8d1ce17062bfac292a1e71b2946c45b8f30f2");
    const { data } = await openAi(`${own.url}/v1`).models.list();
    expect(data.map(({ id }) => id)).toEqual(["flite:kal16"]);
  });
});

describe("a crash of the voice", () => {
  async function voicePid(own: Server): Promise<number> {
    const before = own.enginePids();
    await bytesOf(await speak(own.url, { input: "Hello." }));
    const pid = own.enginePids().find((one) => !before.includes(one));
    if (pid === undefined) throw new Error("there is no engine for the voice");
    return pid;
  }

  test("breaks off speeches under way, is a 500 for those that wait, and then is over", async () => {
    const own = await startServer();
    await own.says("Ready.");
    const pid = await voicePid(own);
    const begun = await speak(own.url, { input: LONG });
    process.kill(pid, "SIGSTOP");
    const waiting = speak(own.url, { input: "Hello." });
    await untilInFlight(own.url, 2, "/v1/audio/speech", "svc-voice");
    process.kill(pid, "SIGSEGV"); // as a fault of native code would
    process.kill(pid, "SIGCONT");
    const answer = await waiting;
    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({ error: { code: "engine_failed" } });
    expect(await begun.arrayBuffer().catch((error: unknown) => error)).toBeInstanceOf(Error);
    await own.says("the speech stream failed");
    expect(own.stderr()).toContain("svc-voice: the engine process ended unexpectedly (signal SIGSEGV)");
    expect(own.stderr()).not.toContain("Bun has crashed");
    expect(await completeText(own.url, ask(CAPITAL))).toBe(CAPITAL.answer);
    await bytesOf(await speak(own.url, { input: "Hello again." }));
  });
});

describe("the official client", () => {
  test("speaks", async () => {
    const client = openAi(`${server().url}/v1`);
    const response = await client.audio.speech.create({
      model: "svc-voice",
      voice: "alloy",
      input: SENTENCE,
      response_format: "wav",
      speed: 1,
    });
    const samples = samplesOf(new Uint8Array(await response.arrayBuffer()).subarray(44));
    expect(samples.length / RATE).toBeGreaterThan(2);
  });

  test("is told what is wrong", async () => {
    const { audio } = openAi(`${server().url}/v1`);
    const wrong = audio.speech.create({
      model: "default",
      voice: "alloy",
      input: "a",
      response_format: "mp3",
    });
    const error = await wrong.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ param: "response_format" });
  });
});

describe("models of the wrong kind", () => {
  test("are refused, each way", async () => {
    const { url } = server();
    const silent = await speak(url, { input: "Hello.", model: "svc-tiny" });
    expect([silent.status, await silent.json()]).toMatchObject([
      400,
      { error: { code: "unsupported_capability" } },
    ]);
    const none = await speak(url, { input: "Hello.", model: "nobody" });
    expect([none.status, await none.json()]).toMatchObject([404, { error: { code: "model_not_found" } }]);
  });

  test("are not measured, quantized or chatted with, and the doctor takes them for what they are", async () => {
    for (const words of ["bench -m flite:slt", "quantize flite:slt Q8_0", "run -m flite:slt -i Hello"]) {
      const { exit, err } = await runBinary(words.split(" "));
      expect([exit, err]).toEqual([
        1,
        expect.stringMatching(/cannot be measured|is a speech model|no text model is served/),
      ]);
    }
    const { out } = await runBinary(["doctor", "-m", "flite:slt"]);
    expect(out).toMatch(/ok +model flite:slt +built in/);
  });

  test("are a problem of the configuration", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "a.toml"), '[[models]]\nmodel_id = "flite:slt"\nkind = "text"\n');
    const { exit, err } = await runBinary(["config", "check", "a.toml"], { cwd });
    expect([exit, err]).toEqual([2, expect.stringContaining('Use kind = "speech"')]);
  });
});
