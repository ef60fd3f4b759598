// Pictures and recordings through the executable: the built-in model with an encoder of random weights. It understands
// nothing of them, but they take their tokens, in every dialect.

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { BadRequestError, OpenAI } from "openai";
import { fileServer, newFolder, runBinary, TINY_FILE } from "../helpers/binary.ts";
import { rejection } from "../helpers/failure.ts";
import { mediaFixture } from "../helpers/media-fixtures.ts";
import { jpeg, png, pngHead, wav } from "../helpers/media-bytes.ts";
import { postJson } from "../helpers/post.ts";
import { PICTURE_TOKENS, tinyMmproj } from "../helpers/tiny-mmproj.ts";

/** Of each begun half minute of a recording. */
const SOUND_TOKENS = 750;

const mmproj = tinyMmproj();
const server = fileServer(["-m", TINY_FILE, "--mmproj", mmproj, "--max-num-images", "3"]);
const blind = fileServer(["-m", TINY_FILE]);

const openai = (url = server().url) => new OpenAI({ apiKey: "any", baseURL: `${url}/v1`, maxRetries: 0 });
const anthropic = () => new Anthropic({ apiKey: "any", baseURL: server().url, maxRetries: 0 });

const red = png(48, 40, [255, 0, 0]);
const dataUrl = (bytes: Uint8Array<ArrayBuffer>) => `data:image/png;base64,${bytes.toBase64()}`;
const QUESTION = { type: "text", text: "What is the capital of France?" } as const;

/** A greedy chat completion of one message. */
const chat = (
  content: OpenAI.ChatCompletionContentPart[],
): OpenAI.ChatCompletionCreateParamsNonStreaming => ({
  model: "default",
  temperature: 0,
  max_tokens: 4,
  messages: [{ role: "user", content }],
});
const picture = (bytes = red): OpenAI.ChatCompletionContentPart => ({
  type: "image_url",
  image_url: { url: dataUrl(bytes) },
});

describe("chat completions", () => {
  test("each image has its tokens, and the same prompt comes from the cache", async () => {
    const ask = async (...pictures: OpenAI.ChatCompletionContentPart[]) =>
      (await openai().chat.completions.create(chat([...pictures, QUESTION]))).usage;
    const without = (await ask())?.prompt_tokens ?? 0;
    expect(without).toBeGreaterThan(5);
    const one = (await ask(picture()))?.prompt_tokens ?? 0;
    expect(one).toBeGreaterThanOrEqual(without + PICTURE_TOKENS);
    const two = await ask(picture(), picture(png(30, 30, [0, 0, 255])));
    expect(two?.prompt_tokens).toBe(one + (one - without));
    const again = await ask(picture(), picture(png(30, 30, [0, 0, 255])));
    expect(again?.prompt_tokens_details?.cached_tokens).toBeGreaterThan(one);
  });

  test("a recording has its tokens, streamed", async () => {
    const part = { type: "input_audio", input_audio: { data: wav(2).toBase64(), format: "wav" } } as const;
    const stream = openai().chat.completions.stream({
      ...chat([part, QUESTION]),
      stream: true,
      stream_options: { include_usage: true },
    });
    const { usage } = await stream.finalChatCompletion();
    expect(usage?.prompt_tokens).toBeGreaterThan(SOUND_TOKENS);
  });

  test.each<[string, OpenAI.ChatCompletionContentPart[], string, string]>([
    [
      "more images than the settings allow",
      [picture(), picture(), picture(), picture()],
      "[3]",
      "at most 3 images",
    ],
    [
      "a private address",
      [{ type: "image_url", image_url: { url: "http://127.0.0.1:1/a.png" } }],
      "[0]",
      "public internet",
    ],
  ])("%s is refused", async (_name, content, at, words) => {
    const error = await rejection(openai().chat.completions.create(chat(content)));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ code: "invalid_request", param: `messages[0].content${at}` });
    expect((error as BadRequestError).message).toContain(words);
  });

  test.each([
    ["a PNG that breaks off", red.subarray(0, 60)],
    ["a JPEG without a picture", jpeg(40, 40)],
  ])("%s is the sender's fault, and the server goes on", async (_name, bytes) => {
    const error = await rejection(
      openai().chat.completions.create(chat([picture(new Uint8Array(bytes)), QUESTION])),
    );
    expect(error).toBeInstanceOf(BadRequestError);
    const { choices } = await openai().chat.completions.create(chat([picture(), QUESTION]));
    expect(choices[0]?.finish_reason).toBe("length");
  });

  test("a model without a projector says so", async () => {
    const request = openai(blind().url).chat.completions.create({
      ...chat([QUESTION, picture()]),
      stream: true,
    });
    const error: unknown = await request.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ code: "unsupported_capability", param: "messages[0].content[1]" });
  });
});

describe("files as phones and browsers make them, in every dialect", () => {
  const IMAGES = ["quarters.heic", "quarters.avif", "lossy.webp", "cmyk.tiff", "cmyk.jpg"];
  const bodies = {
    "/v1/chat/completions": (url: string) => chat([{ type: "image_url", image_url: { url } }, QUESTION]),
    "/v1/responses": (url: string) => ({
      model: "default",
      max_output_tokens: 2,
      input: [{ role: "user", content: [{ type: "input_image", image_url: url }] }],
    }),
    "/v1/messages": (url: string) => {
      const source = { type: "base64", media_type: "image/webp", data: url.slice(url.indexOf(",") + 1) };
      const content = [{ type: "image", source }, QUESTION];
      return { model: "default", max_tokens: 2, messages: [{ role: "user", content }] };
    },
    "/api/chat": (url: string) => ({
      model: "default",
      stream: false,
      options: { num_predict: 2 },
      messages: [{ role: "user", content: "What is it?", images: [url.slice(url.indexOf(",") + 1)] }],
    }),
  } as const;

  test.each(Object.entries(bodies))("%s takes them", async (path, body) => {
    for (const name of IMAGES) {
      const base64 = mediaFixture(name).toBase64({ alphabet: "base64url", omitPadding: true });
      const response = await postJson(server().url + path, body(`data:image/webp;base64,${base64}`));
      expect(await response.text()).not.toContain('"error":{');
      expect(response.status).toBe(200);
    }
    const cut = mediaFixture("quarters.heic").subarray(0, 400).toBase64();
    const refused = await postJson(server().url + path, body(`data:image/heic;base64,${cut}`));
    expect(refused.status).toBe(400);
    const words = await refused.text();
    expect(words).toContain("HEIC");
    expect(words).toContain("send PNG, JPEG");
  });

  /** Files that are none of a model's, each with what its refusal names. */
  const REFUSED: readonly (readonly [string, Uint8Array<ArrayBuffer>, RegExp])[] = [
    ["nothing", new Uint8Array(), /empty|unknown format|no bytes/],
    ["text", Buffer.from("Hello, world"), /unknown format; send PNG, JPEG/],
    ["a vector drawing", Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), /SVG.*send PNG, JPEG/],
    ["a later format", Buffer.from("ff0a00000000", "hex"), /JPEG XL.*send PNG, JPEG/],
    ["a document", Buffer.from("%PDF-1.7\n"), /PDF.*send PNG, JPEG/],
    ["a damaged head", red.subarray(0, 20), /damaged PNG.*send PNG, JPEG/],
    ["far too many pixels", pngHead(60_000, 60_000), /60000 × 60000 pixels/],
    ["a cut file", red.subarray(0, 60), /./],
  ];

  test.each(Object.entries(bodies))("%s refuses others by name, streamed and not", async (path, body) => {
    for (const [what, bytes, words] of REFUSED)
      for (const stream of [false, true]) {
        const url = `data:image/png;base64,${Buffer.from(bytes).toString("base64")}`;
        const response = await postJson(server().url + path, { ...body(url), stream });
        const text = await response.text();
        expect(`${what}: ${response.status} ${text}`).toMatch(
          new RegExp(`^${what}: 400 .*${words.source}`, "s"),
        );
      }
  });

  test("a model's card names formats and limits", async () => {
    const { data } = await (await fetch(`${server().url}/v1/models`)).json();
    const [{ media }] = data;
    expect(media.image).toMatchObject({ formats: expect.arrayContaining(["HEIC"]), max_images: 3 });
    expect(media.audio.formats).toContain("MP3");
    const shown = await runBinary(["show", data[0].id, "--port", new URL(server().url).port]);
    expect(shown.out).toMatch(/images +PNG, JPEG, .*; at most 3 in a request\n/);
  });

  test("sounds", async () => {
    for (const name of ["tone.opus", "tone.ogg"]) {
      const part = {
        type: "input_audio",
        input_audio: { data: mediaFixture(name).toBase64(), format: "wav" },
      };
      const { usage } = await openai().chat.completions.create(
        chat([part as OpenAI.ChatCompletionContentPart, QUESTION]),
      );
      expect(usage?.prompt_tokens).toBeGreaterThan(SOUND_TOKENS);
    }
  });
});

test("responses: a chain goes on with the image", async () => {
  const content: OpenAI.Responses.ResponseInputContent[] = [
    { type: "input_image", image_url: dataUrl(red), detail: "auto" },
    { type: "input_text", text: "What is it?" },
  ];
  const common = { model: "default", temperature: 0, max_output_tokens: 4 } as const;
  const first = await openai().responses.create({ ...common, input: [{ role: "user", content }] });
  expect(first.usage?.input_tokens).toBeGreaterThan(PICTURE_TOKENS);
  const next = await openai().responses.create({
    ...common,
    input: "And now?",
    previous_response_id: first.id,
  });
  expect(next.usage?.input_tokens).toBeGreaterThan(first.usage?.input_tokens ?? Infinity);
});

test("messages: an image counts in the answer as in the count", async () => {
  const messages: Anthropic.MessageParam[] = [
    {
      role: "user",
      content: [
        { type: "image", source: { type: "base64", media_type: "image/png", data: red.toBase64() } },
        QUESTION,
      ],
    },
  ];
  const { input_tokens: counted } = await anthropic().messages.countTokens({ model: "default", messages });
  expect(counted).toBeGreaterThan(PICTURE_TOKENS);
  const { usage } = await anthropic().messages.create({ model: "default", max_tokens: 4, messages });
  expect(usage.input_tokens).toBe(counted);
});

test("a session is continued with its image, here and where it is imported", async () => {
  const ask = async (body: object) => {
    const response = await postJson(`${server().url}/v1/chat/completions`, {
      max_tokens: 4,
      temperature: 0,
      ...body,
    });
    return (await response.json()) as { usage: { prompt_tokens: number } };
  };
  const first = await ask({ session_id: "s", messages: chat([picture(), QUESTION]).messages });
  const session = `${server().url}/v1/sessions`;
  const exported = await (await fetch(`${session}/s`)).json();
  expect(exported.images).toEqual([red.toBase64()]);
  await fetch(`${session}/copy`, { method: "PUT", body: JSON.stringify(exported) });
  const messages = [{ role: "user", content: "And now?" }];
  const second = await ask({ session_id: "s", messages });
  expect(second.usage.prompt_tokens).toBeGreaterThan(first.usage.prompt_tokens);
  expect((await ask({ session_id: "copy", messages })).usage.prompt_tokens).toBe(second.usage.prompt_tokens);
});

describe("svc run", () => {
  const file = join(newFolder(), "red.png");
  writeFileSync(file, red);
  const words = ["--image", file, "-i", "What is it?"];

  test("answers a question about an image", async () => {
    const sure = ["--seed", "1", "--reasoning-effort", "off"]; // a projector of noise may make the model say nothing
    const { exit, out, err } = await runBinary([
      "run",
      "-m",
      TINY_FILE,
      "--mmproj",
      mmproj,
      ...sure,
      ...words,
    ]);
    expect({ exit, err }).toEqual({ exit: 0, err: "" });
    expect(out.trim()).not.toBe("");
  });

  test("says that the model sees none", async () => {
    const { exit, err } = await runBinary(["run", "-m", TINY_FILE, ...words]);
    expect(exit).toBe(1);
    expect(err).toContain("red.png is an image, but the model does not accept images");
  });
});
