// Videos from the wire to the engine: what becomes of them, and what is refused before any answer begins.

import { describe, expect, test } from "bun:test";
import { ServiceError } from "../../src/core/error.ts";
import { ANY_MEDIA, type MediaRules } from "../../src/core/media.ts";
import type { Converters } from "../../src/core/converters.ts";
import type { ReadVideo, VideoBounds } from "../../src/core/video.ts";
import { CONVERTS_NOTHING, messagesOf } from "../helpers/agent.ts";
import { chatBody, responsesBody, testApp } from "../helpers/app.ts";
import { fakeModel } from "../helpers/fake-model.ts";
import { jpeg, png } from "../helpers/media-bytes.ts";
import { mediaFixture } from "../helpers/media-fixtures.ts";

const MP4 = new Uint8Array([0, 0, 0, 16, ...new TextEncoder().encode("ftypisom0000")]);
const MP4_URL = `data:video/mp4;base64,${MP4.toBase64()}`;
const image = (bytes: Uint8Array) => ({ type: "image", data: bytes.toBase64() });
const text = (words: string) => ({ type: "text", text: words });

/** Yields these images as frames a second apart, and notes what it was asked. */
function decoder(frames: readonly Uint8Array<ArrayBuffer>[]) {
  const asked: VideoBounds[] = [];
  const readVideo: ReadVideo = async (_file, bounds) => {
    asked.push(bounds);
    return frames.slice(0, bounds.framesMax).map((bytes, seconds) => ({ bytes, seconds }));
  };
  return { readVideo, asked };
}

function setUp(readVideo: ReadVideo, media: MediaRules = ANY_MEDIA) {
  const { generate, requests } = fakeModel();
  const converted: object[] = [];
  const converters: Converters = {
    ...CONVERTS_NOTHING,
    image: async ({ format }, framesMax) => {
      converted.push({ format, framesMax });
      const frames = FRAMES.map((bytes, seconds) => ({ bytes, seconds }));
      return { frames: frames.slice(0, framesMax), total: frames.length };
    },
  };
  const app = testApp(generate, { media, readVideo, converters });
  const seen = () => messagesOf(requests.at(-1)).flatMap(({ content }) => content);
  const chat = (part: object, extra: object = {}) =>
    app.post(
      "/v1/chat/completions",
      chatBody({ messages: [{ role: "user", content: [part, text("What?")] }], ...extra }),
    );
  const refusal = async (part: object, status = 400) => {
    const response = await chat(part);
    expect(response.status).toBe(status);
    return (await response.json()).error as { code: string; message: string; param?: string };
  };
  return { app, seen, chat, refusal, requests, converted };
}

const video = (url: string) => ({ type: "video_url", video_url: { url } });
const FRAMES = [png(2, 2), png(3, 3)];
const TIMED = [text("[Video]"), ...FRAMES.flatMap((frame, at) => [text(`[0m${at}.0s]`), image(frame)])];

describe("a video", () => {
  test("becomes its frames and their times, in its place", async () => {
    const { readVideo, asked } = decoder(FRAMES);
    const { chat, seen } = setUp(readVideo, { ...ANY_MEDIA, edgeMax: 640, videoFramesMax: 7 });
    expect((await chat(video(MP4_URL))).status).toBe(200);
    expect<object[]>(seen()).toEqual([...TIMED, text("What?")]);
    expect(asked).toEqual([{ framesMax: 7, edgeMax: 640, param: "messages[0].content[0]" }]);
  });

  test("of the Responses API, also by the id of a file", async () => {
    const { app, seen } = setUp(decoder(FRAMES).readVideo);
    const form = new FormData();
    form.set("purpose", "user_data");
    form.set("file", new File([MP4], "clip.mp4"));
    const { id } = await (await app.request("/v1/files", { method: "POST", body: form })).json();
    for (const named of [{ video_url: MP4_URL }, { file_id: id }]) {
      const content = [{ type: "input_video", ...named }];
      const response = await app.post("/v1/responses", responsesBody({ input: [{ role: "user", content }] }));
      expect(response.status).toBe(200);
      expect<object[]>(seen()).toEqual(TIMED);
    }
  });

  test("may be sent as frames, which are not decoded", async () => {
    const { readVideo, asked } = decoder([]);
    const { chat, seen, refusal } = setUp(readVideo, { ...ANY_MEDIA, videoFramesMax: 2 });
    const frames = [jpeg(2, 2), jpeg(4, 4)];
    const url = `data:video/jpeg;base64,${frames.map((frame) => frame.toBase64()).join(",")}`;
    expect((await chat(video(url))).status).toBe(200);
    expect<object[]>(seen()).toEqual([text("[Video]"), ...frames.map(image), text("What?")]);
    expect(asked).toEqual([]);
    const error = await refusal(video(`${url},${jpeg(1, 1).toBase64()}`));
    expect(error).toMatchObject({ code: "invalid_request", param: "messages[0].content[0]" });
    expect(error.message).toContain("more than 2 frames");
  });

  test("counts with its frames as images", async () => {
    const { refusal } = setUp(decoder(FRAMES).readVideo, { ...ANY_MEDIA, imagesMax: 1 });
    const error = await refusal(video(MP4_URL));
    expect(error.message).toContain("at most 1 image, frames of videos included");
  });

  test("in a session equals itself when the client repeats it", async () => {
    const { app, seen } = setUp(decoder(FRAMES).readVideo);
    const question = { role: "user", content: [video(MP4_URL), text("What?")] };
    const ask = async (messages: readonly object[]) => {
      const response = await app.post("/v1/chat/completions", chatBody({ messages, session_id: "s" }));
      expect(response.status).toBe(200);
      return (await response.json()).choices[0].message as object;
    };
    const answer = await ask([question]);
    await ask([question, answer, { role: "user", content: "And?" }]);
    expect(seen().filter(({ type }) => type === "image")).toHaveLength(2);
    const exported = await (await app.request("/v1/sessions/s")).json();
    expect(exported.messages.filter(({ role }: { role: string }) => role === "user")).toHaveLength(2);
  });

  test("is refused by a model without images before it is fetched", async () => {
    const { refusal } = setUp(decoder(FRAMES).readVideo, { ...ANY_MEDIA, modalities: ["audio"] });
    const error = await refusal(video("http://[::1]/a.mp4"));
    expect(error).toMatchObject({ code: "unsupported_capability", param: "messages[0].content[0]" });
    expect(error.message).toContain("whose frames are images");
  });

  test.each([
    ["an image", `data:image/png;base64,${png().toBase64()}`, "is a PNG file"],
    ["text", "data:video/mp4;base64,aGVsbG8=", "of an unknown format"],
    ["a private address", "http://127.0.0.1/a.mp4", "not on the public internet"],
  ])("%s is none", async (_name, url, words) => {
    const { refusal, requests } = setUp(decoder(FRAMES).readVideo);
    const error = await refusal(video(url));
    expect(error).toMatchObject({ code: "invalid_request", param: "messages[0].content[0]" });
    expect(error.message).toContain(words);
    expect(requests).toHaveLength(0);
  });

  test("an animated GIF is one, and an animated image is a video", async () => {
    const { chat, converted, seen } = setUp(decoder([]).readVideo);
    const url = `data:image/gif;base64,${mediaFixture("animated.gif").toBase64()}`;
    expect((await chat(video(url))).status).toBe(200);
    expect<object[]>(seen()).toEqual([...TIMED, text("What?")]);
    expect((await chat({ type: "image_url", image_url: { url } })).status).toBe(200);
    expect<object[]>(seen()).toEqual([...TIMED, text("What?")]);
    expect(converted).toEqual([
      { format: "GIF", framesMax: 32 },
      { format: "GIF", framesMax: 32 },
    ]);
  });

  test("an animation where one image is allowed is its first, and the answer says so", async () => {
    const { chat, seen } = setUp(decoder([]).readVideo, { ...ANY_MEDIA, imagesMax: 1 });
    const url = `data:image/webp;base64,${mediaFixture("animated.webp").toBase64()}`;
    const answer = await (await chat({ type: "image_url", image_url: { url } })).json();
    expect<object[]>(seen()).toEqual([image(png(2, 2)), text("What?")]);
    const cut = { name: "messages[0].content[0]", unit: "frames", shown: 1, of: 2 };
    expect(answer).toMatchObject({ cut_files: [cut] });
  });

  test.each([
    [
      { type: "input_video", input_video: {} },
      "messages[0].content[0].input_video",
      "exactly one of data and url",
    ],
    [{ type: "video", video: "x" }, "messages[0].content[0].type", '"video_url"'],
  ])("%j names its fields", async (part, param, words) => {
    const error = await setUp(decoder(FRAMES).readVideo).refusal(part);
    expect(error.param).toBe(param);
    expect(error.message).toContain(words);
  });

  test("that cannot be decoded is the decoder's error", async () => {
    const { refusal } = setUp(() => Promise.reject(new ServiceError("unsupported_capability", "no decoder")));
    expect(await refusal(video(MP4_URL))).toMatchObject({ message: "no decoder" });
  });
});
