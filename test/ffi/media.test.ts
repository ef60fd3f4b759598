// Pictures and recordings through libmtmd: the built-in model with a projector of random weights.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { ContentPart, Message } from "../../src/core/message.ts";
import type { RunRequest } from "../../src/core/run.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import { type Answer, chatRequest, EngineTalk, runAll } from "../helpers/engine-run.ts";
import { audioPart, checkered, imagePart, plain, png, pngWith, tone, wav } from "../helpers/drawn-media.ts";
import { tinyBackend } from "../helpers/native.ts";
import { PICTURE_TOKENS, tinyMmproj, tinyWideMmproj } from "../helpers/tiny-mmproj.ts";
import { tinyWidePositions } from "../helpers/tiny-models.ts";
import { tempDir } from "../helpers/tmp.ts";
import { SOUND_TOKENS } from "../helpers/write-projector.ts";
import { PROJECTOR_TYPES, writeProjectorType } from "../projectors/types.ts";

const text = (words: string): ContentPart => ({ type: "text", text: words });

const user = (...content: ContentPart[]): Message => ({ role: "user", content });
const said = ({ text: words }: Answer): Message => ({ role: "assistant", content: [text(words)] });

let backend: LlamaBackend;

function open(options: Partial<TextOptions> = {}): Promise<LlamaBackend> {
  return tinyBackend({ mmprojPath: tinyMmproj(), maxSeqLen: 2048, ...options });
}

beforeAll(async () => {
  backend = await open();
});
afterAll(() => backend.close());

function conversation(messages: readonly Message[], extra: Partial<RunRequest> = {}): RunRequest {
  const request = chatRequest("", { maxTokens: 3, logprobs: { top: 5 }, ...extra });
  return request.prompt.type === "chat" ? { ...request, prompt: { ...request.prompt, messages } } : request;
}

function ask(content: readonly ContentPart[], extra: Partial<RunRequest> = {}): RunRequest {
  return conversation([{ role: "user", content }], extra);
}

/** What a request's answer begins with, to six digits. */
function firstChances(request: RunRequest, on = backend): string {
  const [answers] = runAll(on, [request]);
  if (!Array.isArray(answers)) throw new Error(JSON.stringify(answers));
  const top = answers[0]?.logprobs[0]?.top ?? [];
  expect(top).toHaveLength(5);
  return top.map(({ token, logprob }) => `${token}:${logprob.toFixed(6)}`).join(" ");
}

function look(file: Uint8Array): readonly ContentPart[] {
  return [text("Look at this: "), imagePart(file), text(" What is it?")];
}

describe("input that the model perceives", () => {
  test("probabilities differ between images and are equal for the same image", () => {
    const red = firstChances(ask(look(plain(255, 0, 0))));
    expect(firstChances(ask(look(plain(255, 0, 0))))).toBe(red);
    const others = [plain(0, 0, 255), checkered(), checkered(4)].map((file) => firstChances(ask(look(file))));
    expect(new Set([red, ...others]).size).toBe(4);
  });

  test("the position of an image in the message matters", () => {
    const before = firstChances(ask([imagePart(checkered()), text("What is it?")]));
    const after = firstChances(ask([text("What is it?"), imagePart(checkered())]));
    expect(before).not.toBe(after);
  });

  test("probabilities differ between audio clips", () => {
    const hear = (file: Uint8Array): string =>
      firstChances(ask([text("Hear: "), audioPart(file), text("What?")]));
    const low = hear(tone(440));
    expect(hear(tone(440))).toBe(low);
    expect(hear(tone(2000))).not.toBe(low);
    expect(hear(wav(1, () => 0))).not.toBe(low);
  }, 60_000);

  test("an image computed in pieces equals one computed as a whole", async () => {
    const small = await open({ batch: 6, ubatch: 6, maxSeqs: 2 });
    const [whole, pieces] = [backend, small].map((on) => firstChances(ask(look(checkered())), on));
    small.close();
    const values = (chances = ""): number[] =>
      [...chances.matchAll(/:(\S+)/g)].map(([, value]) => Number(value));
    values(whole).forEach((value, i) => expect(values(pieces)[i]).toBeCloseTo(value, 1));
  });

  test("text that looks like a media marker is text", () => {
    const marker = "<__media__>";
    const [answers] = runAll(backend, [
      ask([text(`${marker} mediaxx0x `), imagePart(checkered()), text(marker)]),
    ]);
    expect(Array.isArray(answers)).toBe(true);
    const without = firstChances(ask([text("Say "), text(marker)]));
    expect(without).toBe(firstChances(ask([text(`Say ${marker}`)])));
  });
});

describe("several turns", () => {
  test("the second turn encodes nothing and gives the answer of a cold cache", () => {
    const talk = new EngineTalk(backend, 8);
    const first = user(...look(checkered()));
    const answer = talk.ask(conversation([first]));
    expect(talk.stats()).toMatchObject({ mediaEncoded: 1, mediaReused: 0, prefixHits: 0 });
    const second = conversation([first, said(answer.answer), user(text("And now?"))]);
    const next = talk.ask(second);
    expect(next.usage.cachedTokens).toBeGreaterThan(PICTURE_TOKENS + 8);
    expect(talk.stats()).toMatchObject({ mediaEncoded: 1, mediaReused: 0, prefixHits: 1 });
    talk.close();
    expect(next.answer.text).toBe(new EngineTalk(backend, 0).ask(second).answer.text);
  });

  test("the same image at another position reuses its encoding", () => {
    const talk = new EngineTalk(backend, 0);
    talk.ask(ask(look(checkered())));
    const elsewhere = ask([
      text("Something else first. "),
      ...look(checkered()),
      imagePart(plain(9, 9, 9)),
      text("?"),
    ]);
    const { answer, usage } = talk.ask(elsewhere);
    expect(talk.stats()).toMatchObject({ mediaEncoded: 2, mediaReused: 1 });
    expect(usage.cachedTokens).toBe(0);
    talk.close();
    expect(answer.text).toBe(new EngineTalk(backend, 0).ask(elsewhere).answer.text);
  });

  test("media count as tokens, also in token counting", () => {
    const talk = new EngineTalk(backend, 0);
    const count = (...content: ContentPart[]): number =>
      talk.ask(ask(content, { countOnly: true })).usage.promptTokens;
    const words = count(text("What?"));
    expect(count(text("What?"), imagePart(checkered())) - words).toBe(PICTURE_TOKENS);
    const [half, whole] = [1, 31].map((seconds) => count(text("What?"), audioPart(tone(440, seconds))));
    expect((whole ?? 0) - (half ?? 0)).toBe(SOUND_TOKENS); // each begun half minute
    expect(talk.stats().mediaEncoded).toBe(0);
    talk.close();
  });
});

describe("positions in two dimensions", () => {
  test("an image takes fewer positions than tokens; the text continues after them", async () => {
    const mmprojPath = tinyWideMmproj();
    const wide = await tinyBackend({ mmprojPath, maxSeqLen: 2048 }, tinyWidePositions());
    const first = user(text("Look: "), imagePart(checkered(8, 96, 48)), text("What is it?"));
    const pending = wide.render(conversation([first]).prompt);
    let prompt = pending.take(1000);
    while (prompt === undefined) prompt = pending.take(1000);
    const [chunk] = prompt.media;
    expect([chunk?.tokens, chunk?.positions]).toEqual([18, 6]); // 6 by 3
    prompt.free();

    const talk = new EngineTalk(wide, 8);
    const { answer } = talk.ask(conversation([first]));
    const second = conversation([
      first,
      said(answer),
      user(text("And now?"), imagePart(plain(1, 2, 3)), text("?")),
    ]);
    const next = talk.ask(second);
    talk.close();
    expect(next.usage.cachedTokens).toBeGreaterThan(18 + 8);
    const alone = new EngineTalk(wide, 0);
    const [found, wanted] = [next.answer, alone.ask(second).answer].map(({ logprobs }) => logprobs[0]);
    expect(found?.token).toBe(wanted?.token ?? -1);
    // Attention adds in another order where the prompt begins later.
    expect(Math.abs((found?.logprob ?? -Infinity) - (wanted?.logprob ?? 0))).toBeLessThan(0.05);
    alone.close();
    wide.close();
    // Small pieces share no tile, so that nothing but the places where the prompt is cut differs.
    const texts: string[] = [];
    for (const batch of [7, 5]) {
      const options = { mmprojPath, maxSeqLen: 2048, batch, ubatch: batch, maxSeqs: 2 };
      const pieces = await tinyBackend(options, tinyWidePositions());
      texts.push(new EngineTalk(pieces, 0).ask(second).answer.text);
      pieces.close();
    }
    expect(texts[1]).toBe(texts[0]);
    expect(texts[0]?.split(" ")[0]).toBe(next.answer.text.split(" ")[0]);
  });
});

describe("concurrent requests", () => {
  test("eight streams with images beside eight of text give the same answers as alone", () => {
    const pictures = Array.from({ length: 8 }, (_, i) =>
      ask(look(png(40, 40, (x, y) => [i * 30, x * 6, y * 6])), { maxTokens: 12 }),
    );
    const texts = Array.from({ length: 8 }, (_, i) => chatRequest(`Repeat: number ${i}`, { maxTokens: 12 }));
    const together = runAll(backend, [...pictures, ...texts], 8);
    const words = (answers: unknown): string | undefined =>
      Array.isArray(answers) ? (answers as Answer[])[0]?.text : undefined;
    together.forEach((answers) => expect(words(answers)).toBeString());
    expect(new Set(together.slice(0, 8).map((answers) => JSON.stringify(answers))).size).toBe(8);
    texts.forEach((request, i) => expect(words(together[8 + i])).toBe(words(runAll(backend, [request])[0])));
  }, 60_000);
});

describe("invalid files", () => {
  const truncated = checkered();
  const huge = (width: number, height: number): Buffer =>
    pngWith(width, height, deflateSync(Buffer.alloc(1000)));
  const head = tone(440).subarray(0, 44);
  const absurd = Buffer.from(tone(440, 0.01));
  absurd.writeUInt32LE(0xffff_fff0, 4);
  absurd.writeUInt32LE(0xffff_ff00, 40);
  const noise = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919) % 251));
  const cases: readonly (readonly [string, ContentPart, string])[] = [
    ["no bytes", imagePart(Buffer.alloc(0)), "not a PNG, JPEG, GIF or BMP image"],
    ["noise", imagePart(noise), "not a PNG, JPEG, GIF or BMP image"],
    ["half a PNG", imagePart(truncated.subarray(0, truncated.length / 2)), "cannot be read"],
    ["a PNG without its end", imagePart(truncated.subarray(0, -12)), "cannot be read"],
    ["a PNG's magic", imagePart(truncated.subarray(0, 8)), "head is damaged"],
    ["65535 pixels squared", imagePart(huge(65_535, 65_535)), "65535 x 65535 pixels"],
    ["70 million pixels", imagePart(huge(10_000, 7000)), "10000 x 7000 pixels"],
    ["2^31 pixels wide", imagePart(huge(0x7fff_ffff, 1)), "67 million"],
    ["no pixels", imagePart(huge(0, 10)), "no pixels"],
    ["a thread", imagePart(huge(5000, 2)), "100 times the other"],
    ["too few rows", imagePart(huge(2000, 2000)), "cannot be read"],
    [
      "more rows than it says",
      imagePart(pngWith(1, 1, deflateSync(Buffer.alloc(500_000_000)))),
      "cannot be read",
    ],
    ["a JPEG's magic", imagePart(Buffer.from("ffd8ffe000104a464946", "hex")), "head is damaged"],
    ["a GIF's head", imagePart(Buffer.from("GIF89a\x01\x00\x01\x00")), "cannot be read"],
    ["audio as an image", imagePart(tone(440)), "not a PNG, JPEG, GIF or BMP image"],
    ["no bytes of sound", audioPart(Buffer.alloc(0)), "not a WAV, MP3 or FLAC"],
    ["noise as sound", audioPart(noise), "not a WAV, MP3 or FLAC"],
    ["an image as audio", audioPart(checkered()), "not a WAV, MP3 or FLAC"],
    ["a WAV without samples", audioPart(head), "audio clip is empty"],
    ["a WAV's first bytes", audioPart(head.subarray(0, 20)), "not a WAV, MP3 or FLAC"],
  ];

  test.each(cases)("%s", (_, part, why) => {
    const [end] = runAll(backend, [ask([text("Look: "), part])]);
    expect(end).toMatchObject({ type: "error", error: { code: "invalid_request", param: "messages" } });
    expect(JSON.stringify(end)).toContain(part.type === "image" ? "image number 1" : "audio clip number 1");
    expect(JSON.stringify(end)).toContain(why);
  });

  test("a truncated WAV file is used as far as it goes", () => {
    const [answers] = runAll(backend, [ask([audioPart(absurd), text("?")])]);
    expect(Array.isArray(answers)).toBe(true);
  });

  test("audio of one sample, and an image of one pixel", () => {
    for (const part of [audioPart(wav(1 / 16_000, () => 1)), imagePart(plain(1, 2, 3, 1, 1))])
      expect(Array.isArray(runAll(backend, [ask([part, text("?")])])[0])).toBe(true);
  });

  test("the error names the invalid part", () => {
    const [end] = runAll(backend, [ask([imagePart(checkered()), audioPart(tone(440)), imagePart(noise)])]);
    expect(JSON.stringify(end)).toContain("image number 3");
  });
});

describe("models that accept one kind of media, or none", () => {
  test("report it", async () => {
    const sees = await open({ mmprojPath: tinyMmproj(["image"]) });
    const hears = await open({ mmprojPath: tinyMmproj(["audio"]) });
    expect([backend, sees, hears].map(({ info }) => info.modalities)).toEqual([
      ["image", "audio"],
      ["image"],
      ["audio"],
    ]);
    expect(firstChances(ask(look(checkered())), sees)).toBe(firstChances(ask(look(checkered()))));
    sees.close();
    hears.close();
  });

  test("an invalid or incompatible projector is rejected with a reason", async () => {
    for (const mmprojPath of [tinyMmproj(["image"], 128), import.meta.path]) {
      const failure: unknown = await open({ mmprojPath }).catch((error: unknown) => error);
      expect(String(failure)).toContain("the projector (mmproj) could not be loaded: ");
    }
  });

  test("a projector whose marks are no tokens of the model is found at the first image", async () => {
    const mmprojPath = join(tempDir(), "mmproj-idefics3.gguf");
    const idefics = PROJECTOR_TYPES.find(({ type }) => type === "idefics3");
    if (idefics === undefined) throw new Error("there is no idefics3");
    writeProjectorType(mmprojPath, idefics);
    const foreign = await open({ mmprojPath });
    const [refused, written] = runAll(foreign, [ask(look(checkered())), ask([text("Hello")])]);
    expect(refused).toMatchObject({
      type: "error",
      error: {
        code: "unsupported_capability",
        message: expect.stringContaining("vocabulary lacks tokens"),
        param: "messages",
      },
    });
    expect(Array.isArray(written)).toBe(true);
    foreign.close();
  });
});
