// Pictures by the compiled executable, with image models of chance weights.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "fast-png";
import { defined } from "../../src/core/defined.ts";
import type { ImageGenerationResponse } from "../../src/dialects/images/schema.ts";
import { launchServer, newFolder, type Server } from "../helpers/binary.ts";
import { postJson } from "../helpers/post.ts";
import { isAlive } from "../helpers/processes.ts";
import { tinyImageModel } from "../helpers/tiny-images.ts";
import { until } from "../helpers/until.ts";

const folder = newFolder();
let server: Server;
beforeAll(async () => {
  const { diffusion, llm, vae, checkpoint } = tinyImageModel();
  const toml = `
[server]
image_dir = "pictures"
max_loaded_models = 1
[[models]]
model_id = "svc-tiny"
alias = "chat"
[[models]]
model_id = "in-parts"
kind = "image"
format = { diffusion_model = "${diffusion}", llm = "${llm}", vae = "${vae}" }
image = { steps = 2, guidance = 1 }
[[models]]
model_id = "${checkpoint}"
alias = "whole"
kind = "diffusion"
format.vae = "${vae}"
image = { steps = 200, guidance = 1 }
`;
  writeFileSync(join(folder, "svc.toml"), toml);
  server = await launchServer(["svc.toml", "--seed", "7"], { cwd: folder });
});
afterAll(async () => {
  await server.stop();
});

const SMALL = { prompt: "a cat", width: 64, height: 48 };

function ask(body: object, signal?: AbortSignal): Promise<Response> {
  return postJson(`${server.url}/v1/images/generations`, body, defined({ signal }));
}

async function draw(body: object): Promise<ImageGenerationResponse["data"]> {
  const response = await ask(body);
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  const answer = (await response.json()) as ImageGenerationResponse; // the shape is tested in http/images.test.ts
  expect(answer.created).toBeGreaterThan(1_700_000_000);
  return answer.data;
}

async function inline(body: object): Promise<Uint8Array> {
  const [image] = await draw({ ...body, response_format: "B64Json" });
  const url = image?.b64_json ?? "";
  expect(url).toStartWith("data:image/png;base64,");
  return Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
}

describe("a model in parts", () => {
  test("the same seed draws the same bytes, another prompt others, of the size asked for", async () => {
    const cat = await inline(SMALL);
    expect(decode(cat)).toMatchObject({ width: 64, height: 48, channels: 3, depth: 8 });
    expect(await inline(SMALL)).toEqual(cat);
    expect(await inline({ ...SMALL, prompt: "a dog on a hill" })).not.toEqual(cat);
    expect(new Set(decode(cat).data).size).toBeGreaterThan(10);
  });

  test("a size that the model does not have is cut out of a larger one", async () => {
    expect(decode(await inline({ ...SMALL, width: 61, height: 35 }))).toMatchObject({
      width: 61,
      height: 35,
    });
  });

  test("three images are three files, which the server hands out", async () => {
    const images = await draw({
      ...SMALL,
      n: 3,
      quality: "hd",
      style: "vivid",
      steps: 99,
      guidance_scale: 3,
    });
    const files = images.map(({ url }) => readFileSync(url ?? ""));
    expect(files).toHaveLength(3);
    expect(new Set(files.map((file) => file.toString("base64"))).size).toBe(3);
    const pictures = join(folder, "pictures");
    expect(images.every(({ url }) => url?.startsWith(pictures))).toBe(true);
    expect(statSync(pictures).mode & 0o777).toBe(0o700);
    for (const [index, { content_url }] of images.entries()) {
      const response = await fetch(`${server.url}${content_url}`);
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "image/png"]);
      expect(Buffer.from(await response.arrayBuffer()).equals(files[index] ?? Buffer.alloc(0))).toBe(true);
    }
    // The first one has the seed itself.
    expect(Buffer.from(await inline(SMALL)).equals(files[0] ?? Buffer.alloc(0))).toBe(true);
  });

  test("log and metrics tell of each image, and of no prompt", async () => {
    const before = await metric("svc_images_total");
    await draw({ ...SMALL, prompt: "something private" });
    await server.says("in-parts: image 1 of 1, 64x48, 2 steps in ");
    expect(await metric("svc_images_total")).toBe(before + 1);
    expect(await metric("svc_image_steps_total")).toBeGreaterThanOrEqual(2 * (before + 1));
    expect(await metric("svc_image_seconds_total")).toBeGreaterThan(0);
    expect(await metric("svc_image_requests")).toBe(0);
    expect(server.stderr()).not.toContain("private");
  });

  test("what cannot be is refused with the field", async () => {
    for (const [body, param] of [
      [{ ...SMALL, width: 0 }, "width"],
      [{ ...SMALL, height: 100_000 }, "height"],
      [{ ...SMALL, width: 4096, height: 4096 }, "width"],
      [{ ...SMALL, width: 64.5 }, "width"],
      [{ ...SMALL, n: 0 }, "n"],
      [{ ...SMALL, n: 11 }, "n"],
      [{ ...SMALL, size: "64x64" }, "size"],
      [{ ...SMALL, prompt: "" }, "prompt"],
      [{ ...SMALL, response_format: "jpeg" }, "response_format"],
      [{ ...SMALL, model: "chat" }, "model"],
    ] as const) {
      const response = await ask(body);
      expect([param, response.status]).toEqual([param, 400]);
      expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error", param } });
    }
  });
});

describe("a model that takes long", () => {
  const LONG = { ...SMALL, model: "whole", width: 256, height: 256 };

  test("a client that leaves ends the work; the model draws on", async () => {
    const client = new AbortController();
    const pending = ask(LONG, client.signal).catch((error: unknown) => error);
    const before = await metric("svc_image_steps_total");
    await until("it draws", async () => (await metric("svc_image_steps_total")) > before, 60_000);
    const engine = server.enginePid();
    client.abort();
    await pending;
    await until("nothing is drawn any more", async () => (await metric("svc_image_requests")) === 0);
    const steps = await metric("svc_image_steps_total");
    expect(steps).toBeLessThan(before + 200);
    // The engine can take the next one at once, so it has stopped in the middle.
    expect(isAlive(engine)).toBe(true);
    expect(await modelStatus("whole")).toBe("loaded");
    expect(server.enginePid()).toBe(engine);
  });

  test("kill -9 in the middle is one error, and the next request is answered", async () => {
    const before = await metric("svc_image_steps_total");
    const pending = ask(LONG);
    await until("it draws", async () => (await metric("svc_image_steps_total")) > before, 60_000);
    process.kill(server.enginePid(), "SIGKILL");
    const response = await pending;
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { code: "engine_failed", type: "server_error" } });
    expect(decode(await inline(SMALL))).toMatchObject({ width: 64, height: 48 });
  });
});

async function modelStatus(id: string): Promise<string | undefined> {
  const list: unknown = await (await fetch(`${server.url}/v1/models`)).json();
  return (list as { data: { id: string; status: string }[] }).data.find((model) => model.id === id)?.status;
}

test("cards show image models beside the others, chat goes to the text model, and system info knows them", async () => {
  const list: unknown = await (await fetch(`${server.url}/v1/models`)).json();
  expect((list as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual([
    "chat",
    "in-parts",
    "whole",
    "svc-voice",
  ]);
  await inline(SMALL);
  const info: unknown = await (await fetch(`${server.url}/v1/system/info`)).json();
  expect(info).toMatchObject({
    models: [{}, { id: "in-parts", architecture: "Z-Image", context_tokens: null }, {}, { id: "svc-voice" }],
  });
  expect(info).toMatchObject({
    devices: [{ type: "cpu", models: [{ id: "in-parts", memory_bytes: expect.any(Number) }] }],
  });
  const doctor = await fetch(`${server.url}/v1/system/doctor`, { method: "POST" });
  expect(doctor.status).toBe(200);
  const refused = await postJson(`${server.url}/v1/chat/completions`, {
    model: "in-parts",
    messages: [{ role: "user", content: "Hello" }],
  });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: { code: "unsupported_capability", param: "model" } });
});

test("without a folder of its own the server's files go when it stops", async () => {
  const { checkpoint, vae } = tinyImageModel();
  const cwd = newFolder();
  writeFileSync(
    join(cwd, "svc.toml"),
    `[[models]]\nmodel_id = "${checkpoint}"\nkind = "image"\nformat.vae = "${vae}"\nimage.steps = 1\n`,
  );
  const other = await launchServer(["svc.toml"], { cwd, env: { TMPDIR: cwd } });
  try {
    const response = await postJson(`${other.url}/v1/images/generations`, SMALL);
    const { data } = (await response.json()) as ImageGenerationResponse;
    const file = data[0]?.url ?? "";
    expect(file).toStartWith(cwd);
    expect(existsSync(file)).toBe(true);
    const doctor = await fetch(`${other.url}/v1/system/doctor`, { method: "POST" });
    expect(await doctor.json()).toMatchObject({ ok: true });
  } finally {
    await other.stop();
  }
  expect(readdirSync(cwd).filter((name) => name.startsWith(".svc-run-"))).toEqual([]);
});
