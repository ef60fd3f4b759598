// Pictures and recordings from the wire to the engine, in every dialect that takes them: what arrives, and what is refused
// before any answer begins.

import { describe, expect, test } from "bun:test";
import { MEDIA_BYTES_MAX } from "../../src/core/limits.ts";
import { mediaFile } from "../../src/core/media-file.ts";
import { ANY_MEDIA, type MediaRules } from "../../src/core/media.ts";
import type { MediaPart } from "../../src/core/message.ts";
import { responseStore } from "../../src/responses/store.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { messagesOf } from "../helpers/agent.ts";
import { chatBody, messagesBody, responsesBody, testApp, type TestApp } from "../helpers/app.ts";
import { fakeModel } from "../helpers/fake-model.ts";
import { flac, gif, mp3, png, pngHead, wav, WEBP } from "../helpers/media-bytes.ts";
import type { Body } from "../helpers/rules.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A dialect: its route, a body around parts of the user's message, and its words for media. */
interface Row {
  readonly path: string;
  readonly body: (parts: readonly object[], extra?: Body) => Body;
  /** Where the part of this number stands. */
  readonly at: (part: number) => string;
  /** A picture named by a URL. */
  readonly byUrl: (url: string) => object;
  readonly image: (bytes: Bytes) => object;
  readonly audio?: (bytes: Bytes) => object;
  readonly byId?: (id: string) => object;
}

const dataUrl = (bytes: Bytes) => `data:image/png;base64,${bytes.toBase64()}`;

const DIALECTS: Readonly<Record<string, Row>> = {
  chat: {
    path: "/v1/chat/completions",
    body: (content, extra = {}) => chatBody({ messages: [{ role: "user", content }], ...extra }),
    at: (part) => `messages[0].content[${part}]`,
    byUrl: (url) => ({ type: "image_url", image_url: { url } }),
    image: (bytes) => ({ type: "image_url", image_url: { url: dataUrl(bytes) } }),
    audio: (bytes) => ({ type: "input_audio", input_audio: { data: bytes.toBase64(), format: "wav" } }),
  },
  responses: {
    path: "/v1/responses",
    body: (content, extra = {}) => responsesBody({ input: [{ role: "user", content }], ...extra }),
    at: (part) => `input[0].content[${part}]`,
    byUrl: (url) => ({ type: "input_image", image_url: url }),
    image: (bytes) => ({ type: "input_image", image_url: dataUrl(bytes) }),
    audio: (bytes) => ({ type: "input_audio", data: bytes.toBase64(), format: "wav" }),
    byId: (id) => ({ type: "input_image", file_id: id }),
  },
  messages: {
    path: "/v1/messages",
    body: (content, extra = {}) => messagesBody({ messages: [{ role: "user", content }], ...extra }),
    at: (part) => `messages[0].content[${part}]`,
    byUrl: (url) => ({ type: "image", source: { type: "url", url } }),
    image: (bytes) => ({ type: "image", source: { type: "base64", data: bytes.toBase64() } }),
    byId: (id) => ({ type: "image", source: { type: "file", file_id: id } }),
  },
};

function setUp(media: MediaRules = ANY_MEDIA) {
  const { generate, requests } = fakeModel();
  const app = testApp(generate, { media });
  /** The media that the engine was given with its last request. */
  const seen = (): readonly MediaPart[] =>
    messagesOf(requests.at(-1)).flatMap(({ content }) => content.filter((part) => part.type !== "text"));
  return { app, requests, seen };
}

async function refused(app: TestApp, path: string, body: Body, status = 400) {
  const response = await app.post(path, body);
  const json = await response.json();
  expect(response.status, JSON.stringify(json)).toBe(status);
  expect(response.headers.get("content-type")).toStartWith("application/json");
  return json.error as { code: string; message: string; param?: string };
}

async function upload(app: TestApp, bytes: Bytes): Promise<string> {
  const form = new FormData();
  form.set("purpose", "user_data");
  form.set("file", new File([bytes], "picture.png"));
  const response = await app.request("/v1/files", { method: "POST", body: form });
  return (await response.json()).id;
}

describe.each(Object.entries(DIALECTS))("%s", (_, { path, body, at, ...parts }) => {
  const { image, audio, byId, byUrl } = parts;

  test("the engine gets the bytes, in their place", async () => {
    const { app, requests, seen } = setUp();
    const whole = png(9, 9);
    const response = await app.post(path, body([image(whole), image(gif())]));
    expect(response.status).toBe(200);
    expect(seen()).toEqual([
      { type: "image", data: whole.toBase64() },
      { type: "image", data: gif().toBase64() },
    ]);
    expect(requests).toHaveLength(1);
  });

  if (audio !== undefined) {
    test.each([
      ["WAV", wav()],
      ["FLAC", flac()],
      ["MP3", mp3(5)],
    ])("a recording: %s, whatever it was said to be", async (_format, bytes) => {
      const { app, seen } = setUp({ ...ANY_MEDIA, keepsSounds: true });
      expect((await app.post(path, body([audio(bytes)]))).status).toBe(200);
      expect(seen()).toEqual([{ type: "audio", data: bytes.toBase64() }]);
    });

    test("all recordings together are bounded: one is cut, and the answer says so; the next is refused", async () => {
      const { app, seen } = setUp({ ...ANY_MEDIA, audioSecondsMax: 1 });
      expect(await (await app.post(path, body([audio(wav(1))]))).json()).not.toHaveProperty("cut_files");
      const answer = await (await app.post(path, body([audio(wav(0.6)), audio(wav(0.6))]))).json();
      expect(answer).toMatchObject({ cut_files: [{ name: at(1), unit: "seconds", shown: 0.4, of: 0.6 }] });
      const second = seen().flatMap((part) => (part.type === "audio" ? [part.data] : []))[1] ?? "";
      expect(mediaFile(Uint8Array.fromBase64(second))).toMatchObject({ format: "WAV", seconds: 0.4 });
      const error = await refused(app, path, body([audio(wav(1)), audio(wav(0.6))]));
      expect(error).toMatchObject({ code: "invalid_request", param: at(1) });
      expect(error.message).toContain("at most 1 seconds of audio");
    });

    test("a model that only sees does not hear", async () => {
      const { app } = setUp({ ...ANY_MEDIA, modalities: ["image"] });
      const error = await refused(app, path, body([image(png()), audio(wav())]));
      expect(error).toMatchObject({ code: "unsupported_capability", param: at(1) });
      expect(error.message).toContain("does not accept audio");
    });
  }

  if (byId !== undefined) {
    test("an uploaded file, and one that is not there", async () => {
      const { app, seen } = setUp();
      const id = await upload(app, png());
      expect((await app.post(path, body([byId(id)]))).status).toBe(200);
      expect(seen()).toEqual([{ type: "image", data: png().toBase64() }]);
      const error = await refused(app, path, body([byId("file-none")]), 404);
      expect(error).toMatchObject({ code: "file_not_found", param: at(0) });
    });
  }

  test.each([false, true])(
    "a model that sees nothing says so before anything else (stream: %p)",
    async (stream) => {
      const { app, requests } = setUp({ ...ANY_MEDIA, modalities: [] });
      // Not even an address is looked at.
      const pictures = [
        { type: path === "/v1/responses" ? "input_text" : "text", text: "x" },
        byUrl("http://[::1]/a"),
      ];
      const error = await refused(app, path, body(pictures, { stream }));
      expect(error).toMatchObject({ code: "unsupported_capability", param: at(1) });
      expect(error.message).toContain("the model does not accept images");
      expect(requests).toHaveLength(0);
    },
  );

  test.each<readonly [string, (row: typeof parts) => object, string]>([
    ["no base64", () => byUrl("data:image/png;base64,%%%"), "must be base64"],
    ["no base64 URL", () => byUrl("data:image/png,abc"), "must be a base64 data URL"],
    [
      "a text",
      () => image(new TextEncoder().encode("hello")),
      "PNG, JPEG, GIF, BMP, WebP, AVIF, HEIC or TIFF",
    ],
    ["a sound", () => image(wav()), "is a WAV file"],
    ["a damaged WebP file", () => image(WEBP), "is a damaged WebP file"],
    ["a damaged picture", () => image(png().subarray(0, 20)), "damaged PNG"],
    ["more pixels than can be decoded", () => image(pngHead(60_000, 60_000)), "60000 × 60000 pixels"],
    ["a private address", () => byUrl("http://127.0.0.1/a.png"), "not on the public internet"],
    ["a private address by another name", () => byUrl("http://[::ffff:10.0.0.1]/a.png"), "not on the public"],
    ["a file of the server", () => byUrl("file:///etc/passwd"), "only http and https URLs"],
  ])("%s is refused by name", async (_name, part, words) => {
    const { app, requests } = setUp();
    const error = await refused(app, path, body([part(parts)], { stream: true }));
    expect(error).toMatchObject({ code: "invalid_request", param: at(0) });
    expect(error.message).toContain(words);
    expect(error.message).not.toContain("/etc/passwd");
    expect(requests).toHaveLength(0);
  });

  test("too many, too large, too wide", async () => {
    const { app } = setUp({ ...ANY_MEDIA, imagesMax: 2, edgeMax: 8 });
    expect((await app.post(path, body([image(png(8, 1)), image(png(1, 8))]))).status).toBe(200);
    const many = await refused(app, path, body([image(png()), image(png()), image(png())]));
    expect(many).toMatchObject({ code: "invalid_request", param: at(2) });
    expect(many.message).toContain("at most 2 images");
    const wide = await refused(app, path, body([image(png(9, 1))]));
    expect(wide.message).toContain("edges of at most 8");
    const large = await refused(app, path, body([image(new Uint8Array(MEDIA_BYTES_MAX + 1))]), 413);
    expect(large).toMatchObject({ code: "payload_too_large", param: at(0) });
  });
});

test("a chain of responses keeps its images", async () => {
  const { app, seen } = setUp();
  const { body, image, path } = DIALECTS["responses"] as Row;
  const first = await (await app.post(path, body([image(png())]))).json();
  const next = await app.post(path, responsesBody({ input: "And now?", previous_response_id: first.id }));
  expect(next.status).toBe(200);
  expect(seen()).toEqual([{ type: "image", data: png().toBase64() }]);
  const items = await (await app.request(`/v1/responses/${first.id}/input_items`)).json();
  expect(items.data[0].content[0]).toMatchObject({ type: "input_image", image_url: dataUrl(png()) });
});

test("a chain that goes on with another model says what stands in the way", async () => {
  const { generate } = fakeModel();
  const state = ownedState(memoryState());
  const responses = responseStore(state);
  const { body, image, path } = DIALECTS["responses"] as Row;
  const sees = testApp(generate, { media: ANY_MEDIA, responses });
  const first = await (await sees.post(path, body([image(png())]))).json();
  const next = responsesBody({ input: "And now?", previous_response_id: first.id });
  const error = await refused(testApp(generate, { responses }), path, next);
  expect(error).toMatchObject({ code: "unsupported_capability", param: "previous_response_id" });
  expect(error.message).toStartWith("previous_response_id names a conversation with an image");
});

test("a session keeps them, also through an export", async () => {
  const { app, seen } = setUp();
  const { body, image, path } = DIALECTS["chat"] as Row;
  const first = body([image(png()), { type: "text", text: "What is this?" }], { session_id: "s" });
  expect((await app.post(path, first)).status).toBe(200);
  const turn = { session_id: "s", messages: [{ role: "user", content: "And now?" }] };
  await app.post(path, chatBody(turn));
  expect(seen()).toEqual([{ type: "image", data: png().toBase64() }]);

  const exported = await (await app.request("/v1/sessions/s")).json();
  expect(exported.images).toEqual([png().toBase64()]);
  expect(exported.messages[0].content).toEqual([{ type: "image" }, { type: "text", text: "What is this?" }]);
  const put = await app.request("/v1/sessions/other", { method: "PUT", body: JSON.stringify(exported) });
  expect(put.status).toBe(200);
  await app.post(path, chatBody({ ...turn, session_id: "other" }));
  expect(seen()).toHaveLength(1);
});

test("a session with images is no use to a model that sees none, and says so", async () => {
  const { app } = setUp({ ...ANY_MEDIA, modalities: [] });
  const session = { messages: [{ role: "user", content: [{ type: "image" }] }], images: [png().toBase64()] };
  await app.request("/v1/sessions/s", { method: "PUT", body: JSON.stringify(session) });
  const error = await refused(app, "/v1/chat/completions", chatBody({ session_id: "s" }));
  expect(error).toMatchObject({ code: "unsupported_capability", param: "session_id" });
});

test("a count is of the whole prompt", async () => {
  const { app, requests, seen } = setUp();
  const { body, image } = DIALECTS["messages"] as Row;
  const response = await app.post("/v1/messages/count_tokens", body([image(png())]));
  expect(response.status).toBe(200);
  expect(requests.at(-1)?.countOnly).toBe(true);
  expect(seen()).toHaveLength(1);
});
