import { describe, expect, test } from "bun:test";
import { SERVER } from "../../src/core/caller.ts";
import type { HostedTool } from "../../src/core/compat.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { Draw, ImageRequest } from "../../src/core/image.ts";
import { testApp } from "../helpers/app.ts";

const PATH = "/v1/images/generations";
const PNG = Buffer.from("a picture").toString("base64");

const drawWith = (draw: Draw) => testApp(undefined, { draw });

const oneEach: Draw = async function* ({ count }) {
  for (let image = 0; image < count; image++) yield { type: "image", image, png: PNG, steps: 1, seconds: 1 };
  yield { type: "finish" };
};

test("every field has its default, and what is to be ignored is", async () => {
  const seen: ImageRequest[] = [];
  const app = drawWith((request, signal) => {
    seen.push(request);
    return oneEach(request, signal, SERVER);
  });
  for (const extra of [{}, { model: null, n: null, width: null, height: null, response_format: null }]) {
    expect((await app.post(PATH, { prompt: "a cat", ...extra })).status).toBe(200);
  }
  const ignored = {
    quality: "hd",
    style: 7,
    steps: "many",
    guidance_scale: null,
    user: "u",
    seed: 4,
    size: null,
  };
  await app.post(PATH, { prompt: "a cat", model: "m", n: 2, width: 64, height: 32, ...ignored });
  const standard = { model: "default", prompt: "a cat", count: 1, width: 1280, height: 720 };
  expect(seen).toEqual([
    standard,
    standard,
    { model: "m", prompt: "a cat", count: 2, width: 64, height: 32, seed: 4 },
  ]);
});

test.each([
  [{ stream: true }, "stream"],
  [{ output_format: "webp" }, "output_format"],
  [{ seed: "x" }, "seed"],
])("%j is refused, not forgotten", async (extra, param) => {
  const response = await drawWith(oneEach).post(PATH, { prompt: "a", ...extra });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param } });
});

describe("as OpenAI's clients have it, with compat = clients", () => {
  const hosted = new Set<HostedTool>();
  const asClients = (draw: Draw = oneEach) =>
    testApp(undefined, { draw, compat: { mode: "clients", hosted } });
  const PROXIED = { host: "svc.example:8443", "x-forwarded-proto": "https" };

  test("size, base64 alone, and URLs that can be fetched", async () => {
    const seen: ImageRequest[] = [];
    const app = asClients((request, signal) => {
      seen.push(request);
      return oneEach(request, signal, SERVER);
    });
    const inline = await app.post(PATH, { prompt: "a", size: "256x128", response_format: "b64_json" });
    expect(await inline.json()).toMatchObject({ data: [{ b64_json: PNG }] });
    expect(inline.headers.get("x-svc-compat")).toBe("image_form");
    const named = await app.post(PATH, { prompt: "a", size: "auto" }, { headers: PROXIED });
    const url = "https://svc.example:8443/v1/images/files/image-0.png";
    expect(await named.json()).toMatchObject({ data: [{ url }] });
    expect(seen).toMatchObject([
      { width: 256, height: 128 },
      { width: 1280, height: 720 },
    ]);
  });

  test.each([
    [["sdxl"], "default"],
    [["sdxl", "dall-e-3"], "dall-e-3"],
    [[], "dall-e-3"],
  ])("with the image models %p a client's dall-e-3 is %s", async (ids, expected) => {
    const seen: string[] = [];
    const app = testApp(undefined, {
      compat: { mode: "clients", hosted },
      models: () =>
        ids.map((id) => ({ id, kind: "image", created: 0, ownedBy: "svc", status: "loaded" }) as const),
      draw: (request, signal) => {
        seen.push(request.model);
        return oneEach(request, signal, SERVER);
      },
    });
    const answer = await app.post(PATH, {
      model: "dall-e-3",
      prompt: "a",
      n: 1,
      quality: "hd",
      style: "vivid",
    });
    expect([answer.status, seen]).toEqual([200, [expected]]);
    expect(answer.headers.get("x-svc-compat")?.includes("image_model") ?? false).toBe(expected === "default");
    const newer = await app.post(PATH, { model: "gpt-image-1", prompt: "a", quality: "low" });
    expect(await newer.json()).toMatchObject({ data: [{ b64_json: PNG }] }); // whose clients expect no address
  });

  test.each(["512", "0x512", "99999x9", "2048x4096", 512, "512x512px"])(
    "size %p is refused by name",
    async (size) => {
      const response = await asClients().post(PATH, { prompt: "a", size });
      expect(response.status).toBe(400);
    },
  );

  test("size beside width is a contradiction", async () => {
    const response = await asClients().post(PATH, { prompt: "a", size: "64x64", width: 64 });
    expect(await response.json()).toMatchObject({ error: { code: "contradictory_fields", param: "size" } });
  });
});

test.each(["Url", "url", undefined])(
  "response_format %p gives files, which can be fetched",
  async (format) => {
    const app = drawWith(oneEach);
    const response = await app.post(PATH, { prompt: "a", n: 2, response_format: format });
    const body: unknown = await response.json();
    expect(body).toEqual({
      created: expect.any(Number),
      data: [0, 1].map((n) => ({
        url: `/shelf/image-${n}.png`,
        content_url: `/v1/images/files/image-${n}.png`,
      })),
    });
    const file = await app.request("/v1/images/files/image-1.png");
    expect([file.status, file.headers.get("content-type"), await file.text()]).toEqual([
      200,
      "image/png",
      "a picture",
    ]);
  },
);

test.each(["B64Json", "b64_json"])("response_format %p gives data URLs", async (format) => {
  const response = await drawWith(oneEach).post(PATH, { prompt: "a", response_format: format });
  expect(await response.json()).toMatchObject({ data: [{ b64_json: `data:image/png;base64,${PNG}` }] });
});

test("a file that there is not is 404", async () => {
  for (const name of ["image-9.png", "..%2F..%2Fetc%2Fpasswd", "%00"]) {
    const response = await drawWith(oneEach).request(`/v1/images/files/${name}`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: "file_not_found" } });
  }
});

test("an error of the engine is the answer, also after the first image", async () => {
  const broken = new ServiceError("engine_failed", "it broke").toData();
  const app = drawWith(async function* (request, signal) {
    for await (const event of oneEach(request, signal, SERVER)) if (event.type === "image") yield event;
    yield { type: "error", error: broken };
  });
  const response = await app.post(PATH, { prompt: "a" });
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { code: "engine_failed", message: "it broke" } });
});
