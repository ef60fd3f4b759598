// Images on Mesa's software device through the executable, beside the CPU's. test/vulkan.sh prepares the machine.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "fast-png";
import type { ImageGenerationResponse } from "../../src/dialects/images/schema.ts";
import { launchServer, newFolder, type Server } from "../helpers/binary.ts";
import { postJson } from "../helpers/post.ts";
import { tinyImageModel } from "../helpers/tiny-images.ts";
import { until } from "../helpers/until.ts";
import { installVulkan, IS_SLOW, IS_WANTED, OPTIONS, systemOf } from "./device.ts";

/** Entries of one model, by what `[models.device]` says. */
const PLACES: Readonly<Record<string, string>> = {
  "on-device": "device_layers = 1",
  "on-cpu": "device_layers = 0",
  "part-by-part": "memory_mb = 140",
  "no-room": "memory_mb = 60",
  refused: "memory_mb = 60\ndevice_layers = 1",
  "for-small-ones": "memory_mb = 165\ndevice_layers = 1",
};
/** Shaders of images are compiled at the first one: most of two minutes of a core. */
const SHADERS_MS = 600_000;
const STEPS = 4;
const CAT = { prompt: "a cat", width: 96, height: 64, seed: 11 };

let server: Server;

function entry([name, device]: readonly [string, string]): string {
  const { diffusion, llm, vae } = tinyImageModel();
  const parts = `diffusion_model = "${diffusion}", llm = "${llm}", vae = "${vae}"`;
  return `[[models]]\nmodel_id = "${name}"\nkind = "image"\nformat = { ${parts} }\nimage = { steps = ${STEPS}, guidance = 2 }\n[models.device]\n${device}\n`;
}

function ask(body: object, signal?: AbortSignal): Promise<Response> {
  // Bun gives a request five minutes, which the first shaders can take on a busy machine.
  const init: BunFetchRequestInit = { timeout: false, ...(signal === undefined ? {} : { signal }) };
  return postJson(`${server.url}/v1/images/generations`, body, init);
}

async function pixels(body: object): Promise<Uint8Array> {
  const response = await ask({ ...CAT, ...body, response_format: "B64Json" });
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  const { data } = (await response.json()) as ImageGenerationResponse; // its shape is tested in test/http
  const url = data[0]?.b64_json ?? "";
  return Uint8Array.from(decode(Buffer.from(url.slice(url.indexOf(",") + 1), "base64")).data);
}

/** Largest and mean difference of two images, of 255. */
function difference(one: Uint8Array, other: Uint8Array): { readonly most: number; readonly mean: number } {
  expect(one.length).toBe(other.length);
  const each = one.map((value, index) => Math.abs(value - (other[index] ?? 0)));
  return { most: Math.max(...each), mean: each.reduce((sum, value) => sum + value, 0) / each.length };
}

/** Attention in 16 bits on the device, and weights of chance, whose guidance enlarges differences: 5 and 0.53 were measured. */
function expectClose(one: Uint8Array, other: Uint8Array): void {
  const { most, mean } = difference(one, other);
  expect([most <= 8, mean < 0.8, most, mean]).toEqual([true, true, most, mean]);
}

describe.skipIf(!IS_WANTED || !IS_SLOW)("images on a software device", () => {
  let onCpu: Uint8Array;

  beforeAll(async () => {
    await installVulkan();
    const folder = newFolder();
    writeFileSync(join(folder, "svc.toml"), Object.entries(PLACES).map(entry).join(""));
    server = await launchServer(["svc.toml"], { ...OPTIONS, cwd: folder });
    onCpu = await pixels({ model: "on-cpu" });
  }, SHADERS_MS);

  afterAll(() => server.stop());

  test(
    "are the CPU's within the rounding of a pixel, and where they are computed is said",
    async () => {
      const onDevice = await pixels({ model: "on-device" });
      expect(new Set(onDevice).size).toBeGreaterThan(100);
      expectClose(onDevice, onCpu);
      expect(await pixels({ model: "on-device" })).toEqual(onDevice);
      expect(
        difference(await pixels({ model: "on-device", prompt: "a red house" }), onCpu).mean,
      ).toBeGreaterThan(1);
      expect(server.stderr()).toMatch(/images are computed on Vulkan0 \(llvmpipe.*of weights/);
      const { models, devices } = await systemOf(server);
      const card = devices.find(({ name }) => name === "Vulkan0");
      expect(card?.models.map(({ id }) => id)).toContain("on-device");
      const metrics = await (await fetch(`${server.url}/metrics`)).text(); // no text model is loaded
      expect(metrics).toMatch(/^svc_device_memory_free_bytes\{device="Vulkan0"\} [1-9]\d+$/m);
      const placement = models.find(({ id }) => id === "on-device")?.placement;
      expect(placement?.devices.map(({ device }) => device)).toEqual(["Vulkan0", "CPU"]);
      expect(placement?.devices[0]?.weights_bytes).toBeGreaterThan(1e7);
    },
    SHADERS_MS,
  );

  test(
    "with weights in main memory they are the same",
    async () => {
      expectClose(await pixels({ model: "part-by-part" }), onCpu);
      expect(server.stderr()).toMatch(/part by part.*are usable/);
    },
    SHADERS_MS,
  );

  test(
    "without room the CPU computes them with a word why; a wish that cannot be met is refused",
    async () => {
      expect(await pixels({ model: "no-room" })).toEqual(onCpu);
      expect(server.stderr()).toMatch(
        /computed on the CPU: buffers need 1\d\d\.\d MB, and 62\.9 MB of Vulkan0/,
      );
      expect((await ask({ ...CAT, model: "refused" })).status).toBe(503);
      expect(server.stderr()).toMatch(/device_layers: the image model does not fit the device/);
    },
    SHADERS_MS,
  );

  test("an image larger than the device's memory is refused with a size of its shape that fits", async () => {
    const ofTwo: (readonly number[])[] = [];
    for (const edge of [2048, 1984]) {
      const response = await ask({ ...CAT, model: "for-small-ones", width: edge, height: edge });
      const { error } = (await response.json()) as {
        error: { code: string; param: string; message: string };
      }; // tested in test/http
      expect([response.status, error.code, error.param]).toEqual([400, "unsupported_value", "width"]);
      const [, width, height] =
        /^width x height: an image of \d+ x \d+ needs .* of buffers, and .* of Vulkan0.* are free; send at most (\d+) x (\d+)$/.exec(
          error.message,
        ) ?? [];
      expect([Number(width) > 1024, Number(width) < edge, width]).toEqual([true, true, height]);
      ofTwo.push(server.enginePids());
    }
    expect(ofTwo[1]).toEqual(ofTwo[0] ?? []); // the process stays
  }, 120_000);

  test(
    "a client that leaves ends its image within a moment; the next one is drawn by the same process",
    async () => {
      const steps = async (): Promise<number> => {
        const text = await (await fetch(`${server.url}/metrics`)).text();
        return Number(/^svc_image_steps_total (.*)$/m.exec(text)?.[1]);
      };
      const before = await steps();
      const pids = server.enginePids();
      const leaving = new AbortController();
      const large = ask({ ...CAT, model: "on-device", width: 384, height: 384 }, leaving.signal);
      await until("a step of the large image", async () => (await steps()) > before, SHADERS_MS);
      leaving.abort();
      await large.catch(() => {});
      await pixels({ model: "on-device" });
      expect(await steps()).toBeLessThanOrEqual(before + 2 + STEPS); // two of the large one at most
      expect(server.enginePids()).toEqual(pids);
    },
    SHADERS_MS,
  );
});
