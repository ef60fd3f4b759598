// Pictures and recordings through the executable, with a projector of random weights on the built-in model.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { launchServer, newFolder, type Server, startServer } from "../helpers/binary.ts";
import { checkered, plain, png, pngWith, tone } from "../helpers/drawn-media.ts";
import { postJson } from "../helpers/post.ts";
import { valueOf } from "../helpers/prometheus.ts";
import { mediaFixture, turnedJpeg } from "../helpers/media-fixtures.ts";
import { tinyMmproj } from "../helpers/tiny-mmproj.ts";
import { until } from "../helpers/until.ts";

let server: Server;
beforeAll(async () => {
  const cwd = newFolder();
  const sees = `[[models]]\nmodel_id = "svc-tiny"\nalias = "sees"\nkind = "multimodal"\nformat.mmproj = "${tinyMmproj()}"\n`;
  const image = `[[models]]\nmodel_id = "svc-tiny"\nalias = "image-only"\nformat.mmproj = "${tinyMmproj(["image"])}"\n`;
  const reads = `[[models]]\nmodel_id = "svc-tiny"\nalias = "reads"\n`;
  writeFileSync(join(cwd, "svc.toml"), sees + image + reads);
  server = await launchServer(["svc.toml"], { cwd });
});
afterAll(async () => void (await server.stop()));

interface Completion {
  readonly choices: readonly {
    readonly message: { readonly content: string };
    readonly logprobs: {
      readonly content: readonly { readonly top_logprobs: readonly { logprob: number }[] }[];
    };
  }[];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
}

function post(body: object, path = "chat/completions", url = server.url): Promise<Response> {
  return postJson(`${url}/v1/${path}`, url === server.url ? { model: "sees", ...body } : body);
}

const text = (words: string) => ({ type: "text", text: words });
const image = (file: Buffer) => ({
  type: "image_url",
  image_url: { url: `data:image/png;base64,${file.toString("base64")}` },
});
const audio = (file: Buffer) => ({
  type: "input_audio",
  input_audio: { data: file.toString("base64"), format: "wav" },
});
const user = (...content: readonly object[]) => ({ role: "user", content });

async function complete(messages: readonly object[], url = server.url): Promise<Completion> {
  const asked = {
    messages,
    max_tokens: 4,
    temperature: 0,
    enable_thinking: false,
    logprobs: true,
    top_logprobs: 4,
  };
  const response = await post(asked, "chat/completions", url);
  expect(response.status).toBe(200);
  return (await response.json()) as Completion; // the wire is tested elsewhere
}

async function chances(...content: readonly object[]): Promise<string> {
  const { choices } = await complete([user(...content)]);
  return JSON.stringify(choices[0]?.logprobs.content[0]?.top_logprobs.map(({ logprob }) => logprob));
}

async function counted(name: string, url = server.url): Promise<number> {
  return valueOf(await (await fetch(`${url}/metrics`)).text(), name) ?? 0;
}

describe("a model with a projector", () => {
  test("different images, different chances", async () => {
    const question = text("What is in the picture?");
    const seen = await Promise.all(
      [plain(255, 0, 0), plain(0, 0, 255), checkered(), plain(255, 0, 0)].map((file) =>
        chances(image(file), question),
      ),
    );
    expect(new Set(seen.slice(0, 3)).size).toBe(3);
    // The same picture may be computed beside other rows: sums in another order, and a few thousandths of a nat.
    const [first, , , again] = seen.map((one) => JSON.parse(one) as number[]);
    expect(first).toHaveLength(4);
    first?.forEach((chance, i) => expect(Math.abs(chance - (again?.[i] ?? 0))).toBeLessThan(0.03));
  });

  test("a picture of another format, or held in another way, is seen as the same one", async () => {
    const question = text("What is in the picture?");
    const colours = [
      [255, 0, 0],
      [0, 255, 0],
      [0, 0, 255],
      [255, 255, 255],
    ] as const;
    const fields = (order: readonly number[], width: number, height: number) =>
      png(
        width,
        height,
        (x, y) => colours[order[(y * 2 >= height ? 2 : 0) + (x * 2 >= width ? 1 : 0)] ?? 0] ?? colours[0],
      );
    const seen = async (file: Buffer) => JSON.parse(await chances(image(file), question)) as number[];
    const expectSame = (some: readonly number[], others: readonly number[]) =>
      some.forEach((chance, index) => expect(chance).toBeCloseTo(others[index] ?? 0, 3));
    const upright = await seen(fields([0, 1, 2, 3], 32, 16));
    for (const name of ["lossless.webp", "lzw.tiff"])
      expectSame(await seen(Buffer.from(mediaFixture(name))), upright);
    const decoded = Buffer.from(await new Bun.Image(turnedJpeg(6)).png().bytes()); // the runtime turns it, too
    const turned = await seen(Buffer.from(turnedJpeg(6)));
    expectSame(turned, await seen(decoded));
    expect(turned).not.toEqual(await seen(Buffer.from(turnedJpeg(1))));
  });

  test("different sounds, different chances", async () => {
    const question = text("What do you hear?");
    expect(await chances(audio(tone(440)), question)).not.toBe(await chances(audio(tone(3000)), question));
  });

  test("the second turn with the same image encodes nothing", async () => {
    const cwd = newFolder();
    writeFileSync(
      join(cwd, "svc.toml"),
      `[[models]]\nmodel_id = "svc-tiny"\nformat.mmproj = "${tinyMmproj()}"\n`,
    );
    const { url } = await startServer(["svc.toml"], { cwd }); // its counters count this conversation alone
    const first = user(text("Look: "), image(checkered(5)), text("what is this?"));
    const answer = await complete([first], url);
    const said = { role: "assistant", content: answer.choices[0]?.message.content };
    const second = await complete([first, said, user(text("And now?"))], url);
    expect(second.usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(answer.usage.prompt_tokens - 10);
    await until(
      "both turns are counted",
      async () => (await counted("svc_prefix_cache_queries_total", url)) === 2,
    );
    expect(await counted("svc_media_encoded_total", url)).toBe(1);
    expect(await counted("svc_media_reused_total", url)).toBe(0);
  });

  test("eight streams with images beside eight of text", async () => {
    const ask = async (messages: readonly object[]): Promise<string> => {
      const response = await post({ messages, max_tokens: 16, stream: true });
      expect(response.status).toBe(200);
      return response.text();
    };
    const pictures = Array.from({ length: 8 }, (_, i) =>
      ask([user(image(png(30, 30, (x, y) => [8 * x, 8 * y, 30 * i])), text(`Number ${i}?`))]),
    );
    const texts = Array.from({ length: 8 }, (_, i) => ask([{ role: "user", content: `Repeat: ${i}` }]));
    for (const stream of await Promise.all([...pictures, ...texts])) {
      expect(stream).toContain('"finish_reason":"');
      expect(stream).toEndWith("data: [DONE]\n\n");
    }
  });

  test("a client that goes away while its image is encoded disturbs nobody", async () => {
    const gone = new AbortController();
    const body = JSON.stringify({ model: "sees", messages: [user(audio(tone(700, 60)), text("?"))] });
    const headers = { "content-type": "application/json" };
    const request = fetch(`${server.url}/v1/chat/completions`, {
      method: "POST",
      headers,
      body,
      signal: gone.signal,
    });
    setTimeout(() => gone.abort(), 50);
    const ended = await request.then(
      () => "answered",
      () => "gone",
    );
    expect(["answered", "gone"]).toContain(ended);
    expect((await complete([user(text("Still there?"))])).choices).toHaveLength(1);
  });

  test("tokens of images are counted", async () => {
    const count = async (content: readonly object[]): Promise<number> => {
      const response = await post({ messages: [{ role: "user", content }] }, "messages/count_tokens");
      expect(response.status).toBe(200);
      return ((await response.json()) as { input_tokens: number }).input_tokens;
    };
    const source = { type: "base64", media_type: "image/png", data: checkered().toString("base64") };
    expect((await count([text("Hi"), { type: "image", source }])) - (await count([text("Hi")]))).toBe(16);
  });
});

describe("what cannot be", () => {
  const huge = pngWith(65_535, 65_535, deflateSync(Buffer.alloc(100)));
  const bomb = pngWith(4, 4, deflateSync(Buffer.alloc(100_000_000)));
  const cases: readonly (readonly [string, string, object])[] = [
    ["an image for a model of text", "reads", image(checkered())],
    ["audio for a model of text", "reads", audio(tone(440))],
    ["audio for a model that only sees", "image-only", audio(tone(440))],
    ["noise", "sees", image(Buffer.from("no picture at all"))],
    ["no bytes", "sees", image(Buffer.alloc(0))],
    ["half a picture", "sees", image(checkered().subarray(0, 90))],
    ["65535 pixels squared", "sees", image(huge)],
    ["more rows than it says", "sees", image(bomb)],
    ["half a head of sound", "sees", audio(tone(440).subarray(0, 30))],
    ["sound without samples", "sees", audio(tone(440).subarray(0, 44))],
  ];

  test.each(cases)("%s is a 400", async (_, model, part) => {
    const response = await post({ model, messages: [user(text("Look: "), part)], stream: true });
    expect([400, 413]).toContain(response.status);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    if (model === "sees") expect(["invalid_request", "payload_too_large"]).toContain(error.code);
    else {
      expect(error.code).toBe("unsupported_capability");
      expect(error.message).toContain("audio" in part || "input_audio" in part ? "audio" : "image");
    }
  });

  test("the engines have survived it all", async () => {
    expect(server.enginePids()).toHaveLength(3);
    expect(await counted("svc_engine_restarts_total")).toBe(0);
    expect(server.stderr()).not.toContain("restarting");
  });
});
