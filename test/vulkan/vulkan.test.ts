// The Vulkan back end through the executable, on Mesa's software device. test/vulkan.sh prepares the machine.

import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runBinary, type Server, startServer } from "../helpers/binary.ts";
import { ask, CAPITAL, completeText, postChat } from "../helpers/chat-client.ts";
import { TINY_PATH } from "../helpers/native.ts";
import { plain } from "../helpers/drawn-media.ts";
import { writeProjector } from "../helpers/write-projector.ts";
import { devicesOf, installVulkan, IS_SLOW, IS_WANTED, killEngine, OPTIONS, systemOf } from "./device.ts";

const QUESTIONS = ["What is 12 + 30?", "What is the capital of France?"];

/** Greedy answers to all questions, several at once. */
function answers(server: Server): Promise<readonly string[]> {
  return Promise.all(
    QUESTIONS.map((content) =>
      completeText(server.url, { ...ask({ content }), temperature: 0, max_tokens: 24 }),
    ),
  );
}

describe.skipIf(!IS_WANTED)("Vulkan on a software device", () => {
  let onCpu: readonly string[] = [];

  beforeAll(async () => {
    expect(await installVulkan()).toContain("The answers are equal");
    const server = await startServer(["--cpu"], OPTIONS);
    onCpu = await answers(server);
    expect(await devicesOf(server)).toEqual(["CPU"]);
    await server.stop();
  }, 180_000);

  test("the device is listed, by the doctor too, and passes its test", async () => {
    expect((await runBinary(["backend", "list"], OPTIONS)).out).toMatch(/^vulkan\s+installed/m);
    expect((await runBinary(["doctor"], OPTIONS)).out).toMatch(/ok\s+accelerator\s+0: llvmpipe/);
    const tried = await runBinary(["backend", "test", "vulkan"], OPTIONS);
    expect([tried.exit, tried.out]).toEqual([0, expect.stringContaining("The answers are equal")]);
  }, 120_000);

  test.each([
    ["all layers", []],
    ["two layers", ["--num-device-layers", "2"]],
  ])(
    "%s on the device: the same answers as on the CPU, also under load",
    async (_, flags) => {
      const server = await startServer(flags, OPTIONS);
      expect(await answers(server)).toEqual(onCpu);
      expect(await answers(server)).toEqual(onCpu);
      expect(await devicesOf(server)).toEqual(expect.arrayContaining(["Vulkan0", "CPU"]));
      await server.stop();
    },
    120_000,
  );

  test("a model that is larger than the device's memory is divided, and every place says so", async () => {
    const server = await startServer(["--device-memory-mb", "20", "--pa-context-len", "4096"], OPTIONS);
    expect(await answers(server)).toEqual(onCpu);
    expect(server.stderr()).toMatch(/\d of 7 layers on Vulkan0 \(llvmpipe.*the rest on the CPU/);
    const { models } = await systemOf(server);
    const placement = models[0]?.placement;
    expect(placement?.device_layers).toBeGreaterThan(0);
    expect(placement?.device_layers).toBeLessThan(placement?.layers ?? 0);
    const [card] = placement?.devices ?? [];
    const used = (card?.weights_bytes ?? 0) + (card?.cache_bytes ?? 0) + (card?.compute_bytes ?? 0);
    expect(used).toBeLessThanOrEqual(20 * 2 ** 20);
    expect(Math.abs(used - (card?.estimated_bytes ?? 0)) / used).toBeLessThan(0.1);
    const cards: unknown = await (await fetch(`${server.url}/v1/models`)).json();
    expect(JSON.stringify(cards)).toMatch(/"placement":"\d of 7 layers on Vulkan0, the rest on the CPU"/);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toMatch(/^svc_device_memory_total_bytes\{device="Vulkan0"\} [1-9]/m);
    expect(metrics).toMatch(/^svc_device_memory_free_bytes\{device="Vulkan0"\} [1-9]/m);
  }, 120_000);

  test.skipIf(!IS_SLOW)(
    "a projector takes what was estimated, of the driver's own count, also after an image",
    async () => {
      const file = join(newFolder(), "mmproj.gguf");
      writeProjector(file, {
        modelWidth: 256,
        images: { width: 512, ffn: 1024, heads: 8, layers: 4, edge: 224, patch: 14 },
      });
      const measured = async (flags: readonly string[], content?: readonly unknown[]) => {
        const memory = join(newFolder(), "bytes");
        const env = { ...OPTIONS.env, SVC_TEST_MEMORY: memory };
        const server = await startServer(flags, { ...OPTIONS, env });
        await completeText(server.url, ask(CAPITAL)); // it is loaded then
        if (content !== undefined)
          expect(
            (await postChat(server.url, { messages: [{ role: "user", content }], max_tokens: 1 })).status,
          ).toBe(200);
        const [card] = (await systemOf(server)).models[0]?.placement?.devices ?? [];
        const used = Number(readFileSync(memory, "utf8"));
        await server.stop();
        return { used, estimated: card?.estimated_bytes ?? 0 };
      };
      const url = `data:image/png;base64,${Buffer.from(plain(255, 0, 0)).toString("base64")}`;
      const bare = await measured([]);
      const loaded = await measured(["--mmproj", file]);
      const asked = await measured(["--mmproj", file], [{ type: "image_url", image_url: { url } }]);
      const estimated = loaded.estimated - bare.estimated;
      expect(estimated).toBeGreaterThan(statSync(file).size);
      for (const { used } of [loaded, asked]) {
        const ratio = estimated / (used - bare.used);
        expect([ratio > 0.9, ratio < 1.1, ratio]).toEqual([true, true, ratio]);
      }
    },
    180_000,
  );

  test("a device that does not exist, and shares for more devices than there are, are refused by name", async () => {
    const number = await runBinary(["serve", "--port", "0", "--main-gpu", "3"], OPTIONS);
    expect([number.exit, number.err]).toEqual([1, expect.stringContaining("main_gpu: 3")]);
    const shares = await runBinary(["serve", "--port", "0", "--tensor-split", "1,1"], OPTIONS);
    expect([shares.exit, shares.err]).toEqual([1, expect.stringContaining("tensor_split has more entries")]);
  }, 120_000);

  test("a killed engine comes back on the device; a draft model there changes no answer", async () => {
    const server = await startServer(["--mtp-model", TINY_PATH], OPTIONS);
    await completeText(server.url, ask(CAPITAL));
    await killEngine(server);
    expect(await answers(server)).toEqual(onCpu);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toMatch(/^svc_draft_tokens_total [1-9]/m);
    expect(await devicesOf(server)).toContain("Vulkan0");
    await server.stop();
  }, 120_000);

  test("a back end that is removed under a running engine serves on; the next engine runs on the CPU", async () => {
    const server = await startServer([], OPTIONS);
    expect((await runBinary(["backend", "remove", "vulkan"], OPTIONS)).out).toContain("is removed");
    expect(await answers(server)).toEqual(onCpu);
    await killEngine(server);
    expect(await answers(server)).toEqual(onCpu);
    await server.stop();
    const next = await startServer([], OPTIONS);
    await completeText(next.url, ask(CAPITAL));
    expect(await devicesOf(next)).toEqual(["CPU"]);
    await next.stop();
  }, 120_000);
});
