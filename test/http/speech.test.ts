import { describe, expect, test } from "bun:test";
import { ServiceError } from "../../src/core/error.ts";
import { SPEECH_INPUT_CHARS_MAX } from "../../src/dialects/shared/limits.ts";
import type { Speak, SpeakRequest, SpeechEvent } from "../../src/core/speech.ts";
import { testApp } from "../helpers/app.ts";
import { until } from "../helpers/until.ts";

const PATH = "/v1/audio/speech";
const RATE = 8000;

const speakWith = (speak: Speak) => testApp(undefined, { speak });

function part(bytes: readonly number[], isLast = false): SpeechEvent {
  return { type: "speech", sampleRate: RATE, audio: Buffer.from(bytes).toString("base64"), isLast };
}

/** Speaks parts, and notes what it was asked for and how far it got. */
function speaking(...events: readonly SpeechEvent[]) {
  const requests: SpeakRequest[] = [];
  const seen = { requests, made: 0, ended: false, signal: new AbortController().signal };
  const speak: Speak = async function* speak(request, signal) {
    requests.push(request);
    seen.signal = signal;
    try {
      for (const event of events) {
        seen.made++;
        yield event;
      }
    } finally {
      seen.ended = true;
    }
  };
  return { seen, app: speakWith(speak) };
}

async function bytesOf(response: Response): Promise<number[]> {
  return [...new Uint8Array(await response.arrayBuffer())];
}

describe("the answer", () => {
  test("to a request without a format is a WAV file", async () => {
    const { app, seen } = speaking(part([1, 2, 3, 4], true));
    const response = await app.post(PATH, { input: "Hello" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("audio/wav");
    expect(response.headers.get("x-audio-sample-rate")).toBe("8000");
    const wav = Buffer.from(await response.arrayBuffer());
    expect(wav.byteLength).toBe(48);
    expect(wav.toString("latin1", 0, 4)).toBe("RIFF");
    expect(wav.readUInt32LE(4)).toBe(40);
    expect(wav.toString("latin1", 8, 16)).toBe("WAVEfmt ");
    expect([wav.readUInt32LE(16), wav.readUInt16LE(20), wav.readUInt16LE(22)]).toEqual([16, 1, 1]);
    expect([wav.readUInt32LE(24), wav.readUInt32LE(28)]).toEqual([RATE, 2 * RATE]);
    expect([wav.readUInt16LE(32), wav.readUInt16LE(34)]).toEqual([2, 16]);
    expect(wav.toString("latin1", 36, 40)).toBe("data");
    expect(wav.readUInt32LE(40)).toBe(4);
    expect([...wav.subarray(44)]).toEqual([1, 2, 3, 4]);
    expect(seen.requests).toEqual([{ model: "default", text: "Hello" }]);
    expect(seen.ended).toBe(true); // or the voice would count as busy for ever
  });

  test("as pcm is the data of the WAV file", async () => {
    const parts = [part([1, 2]), part([3, 4]), part([5, 6], true)];
    const { app, seen } = speaking(...parts);
    const pcm = await app.post(PATH, { input: "Hello", response_format: "pcm" });
    expect(pcm.headers.get("content-type")).toBe("audio/pcm");
    expect(pcm.headers.get("x-audio-sample-rate")).toBe("8000");
    const wav = await speaking(...parts).app.post(PATH, { input: "Hello", response_format: "wav" });
    const bytes = await bytesOf(wav);
    expect(bytes.slice(44)).toEqual(await bytesOf(pcm));
    await until("the speech has ended", () => seen.ended);
    expect(bytes.slice(4, 8)).toEqual([255, 255, 255, 255]); // its length was not known when it began
    expect(bytes.slice(40, 44)).toEqual([255, 255, 255, 255]);
  });

  test("comes as it is made", async () => {
    const goOn = Promise.withResolvers<void>();
    const app = speakWith(async function* speak() {
      yield part([1, 2]);
      await goOn.promise;
      yield part([3, 4], true);
    });
    const response = await app.post(PATH, { input: "Hello", response_format: "pcm" });
    const reader = response.body?.getReader();
    expect((await reader?.read())?.value).toEqual(new Uint8Array([1, 2]));
    goOn.resolve();
    expect((await reader?.read())?.value).toEqual(new Uint8Array([3, 4]));
    expect((await reader?.read())?.done).toBe(true);
  });

  test("is not made ahead of a client that does not read", async () => {
    const { app, seen } = speaking(...Array.from({ length: 100 }, () => part([0, 0])), part([0, 0], true));
    const response = await app.post(PATH, { input: "Hello" });
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.read();
    expect(seen.made).toBeLessThan(5);
    await reader?.cancel();
    await until("the speech has ended", () => seen.ended);
    expect(seen.signal.aborted).toBe(true);
    expect(app.logged).toEqual([]);
  });
});

describe("failures", () => {
  const failure: SpeechEvent = {
    type: "error",
    error: { code: "queue_full", message: "too many" },
  };

  test("after it break the connection off and are logged", async () => {
    const { app, seen } = speaking(part([1, 2]), failure);
    const response = await app.post(PATH, { input: "Hello" });
    expect(response.status).toBe(200);
    expect(await response.arrayBuffer().catch((error: unknown) => error)).toBeInstanceOf(ServiceError);
    expect(seen.ended).toBe(true);
    expect(app.logged.join()).toContain("the speech stream failed: too many");
  });

  test("a client that leaves as the first part comes ends the work too", async () => {
    const client = new AbortController();
    let ended = false;
    const app = speakWith(async function* speak() {
      try {
        client.abort();
        yield part([1, 2]);
        yield part([3, 4], true);
      } finally {
        ended = true;
      }
    });
    await app.post(PATH, { input: "a" }, { signal: client.signal }).catch(() => {});
    await until("the speech has ended", () => ended);
    expect(app.logged).toEqual([]);
  });
});

describe("bodies", () => {
  for (const [body, code, param, words] of [
    [{}, "missing_field", "input", "is required"],
    [{ input: "" }, "invalid_request", "input", "must not be empty"],
    [{ input: " \n\t" }, "invalid_request", "input", "must not be empty"],
    [{ input: 5 }, "invalid_request", "input", "must be a string"],
    [{ input: ["a"] }, "invalid_request", "input", "must be a string"],
    [
      { input: "a".repeat(SPEECH_INPUT_CHARS_MAX + 1) },
      "invalid_request",
      "input",
      String(SPEECH_INPUT_CHARS_MAX),
    ],
    [{ input: "a", model: 1 }, "invalid_request", "model", "must be a string"],
    ...["mp3", "opus", "aac", "flac", "ogg", "WAV", ""].map(
      (format) =>
        [
          { input: "a", response_format: format },
          "unsupported_value",
          "response_format",
          '"wav" or "pcm"',
        ] as const,
    ),
    [{ input: "a", response_format: 5 }, "unsupported_value", "response_format", '"wav" or "pcm"; got 5'],
    [{ input: "a", stream_format: "sse" }, "unsupported_value", "stream_format", '"audio"'],
  ] as const) {
    test(`${JSON.stringify(body).slice(0, 60)} is refused`, async () => {
      const { app, seen } = speaking(part([0, 0], true));
      const response = await app.post(PATH, body);
      expect(response.status).toBe(400);
      const { error } = (await response.json()) as { error: Record<string, string> };
      expect([error["code"], error["param"]]).toEqual([code, param]);
      expect(error["message"]).toContain(words);
      expect(seen.requests).toEqual([]);
    });
  }

  test("may say what has no effect here, and leave out all but the input", async () => {
    const { app, seen } = speaking(part([0, 0], true));
    const style = { voice: "alloy", instructions: "Softly.", speed: 9 };
    const ignored = { ...style, stream_format: "audio", other: {} };
    expect(
      (await app.post(PATH, { input: "a", model: null, response_format: null, ...ignored })).status,
    ).toBe(200);
    expect(seen.requests).toEqual([{ model: "default", text: "a", ...style }]);
  });

  test("of the longest text are taken", async () => {
    const { app } = speaking(part([0, 0], true));
    expect((await app.post(PATH, { input: "a".repeat(SPEECH_INPUT_CHARS_MAX) })).status).toBe(200);
  });
});

describe("names of other servers' models", () => {
  const voice = { id: "flite:slt", kind: "speech", created: 0, ownedBy: "svc", status: "loaded" } as const;

  test("mean the first voice, unless they are served", async () => {
    for (const [ids, expected] of [
      [["flite:slt"], "default"],
      [["flite:slt", "tts-1"], "tts-1"],
    ] as const) {
      const requests: SpeakRequest[] = [];
      const app = testApp(undefined, {
        models: () => ids.map((id) => ({ ...voice, id })),
        speak: async function* (request) {
          requests.push(request);
          yield part([1, 2], true);
        },
      });
      expect((await app.post(PATH, { model: "tts-1", input: "Hi" })).status).toBe(200);
      expect(requests.map(({ model }) => model)).toEqual([expected]);
    }
  });

  test("voices are listed", async () => {
    const app = testApp(undefined, { models: () => [voice] });
    const body: unknown = await (await app.request("/v1/audio/voices")).json();
    expect(body).toEqual({ voices: [{ id: "flite:slt", name: "flite:slt" }] });
  });
});
