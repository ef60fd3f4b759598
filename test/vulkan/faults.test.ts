// Faults of a device and its driver, injected below the back end (faults.c): the engine ends, requests get an error, the model
// comes back.

import { beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runBinary, type RunOptions, type Server, startServer } from "../helpers/binary.ts";
import { ask, CAPITAL, completeText, postChat } from "../helpers/chat-client.ts";
import { postJson } from "../helpers/post.ts";
import { until } from "../helpers/until.ts";
import { devicesOf, installVulkan, IS_WANTED, OPTIONS, systemOf } from "./device.ts";

const LIMIT_MS = 120_000;

/** Requests are answered by errors until the engine has been replaced. */
async function answerAfterAll(server: Server): Promise<string> {
  return until(
    "an answer",
    async () => {
      const response = await postChat(server.url, ask(CAPITAL));
      if (response.status === 200) return response.text();
      expect(response.status).toBeGreaterThanOrEqual(500);
      expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
      return undefined;
    },
    LIMIT_MS,
  );
}

describe.skipIf(!IS_WANTED)("faults of a device", () => {
  beforeAll(async () => {
    await installVulkan();
  }, 180_000);

  /** A server whose driver works until `inject` is called. */
  async function start(flags: readonly string[], first = "none") {
    const file = join(newFolder(), "fault");
    const inject = (fault: string): void => writeFileSync(file, fault);
    inject(first);
    const env = { ...OPTIONS.env, SVC_TEST_FAULT: file };
    const options: RunOptions = { ...OPTIONS, env };
    return { inject, server: await startServer(flags, options) };
  }

  test.each([
    ["lost", [], /a pass on a device failed.*ErrorDeviceLost|the engine process ended/],
    [
      "crash",
      [],
      /the engine process ended \(signal SIGABRT\) with layers on Vulkan0 \(llvmpipe.*back end Vulkan/,
    ],
    ["hang", ["--hang-timeout", "2"], /the engine process hung with layers on Vulkan0/],
  ])(
    "%s: an error, and the model answers on the CPU until it is reloaded",
    async (fault, flags, logged) => {
      const { server, inject } = await start(["--device-fallback", "cpu", ...flags]);
      expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
      inject(fault);
      const failed = await postChat(server.url, ask({ content: "What is 2 + 2?" }));
      expect([failed.status, await failed.json()]).toMatchObject([500, { error: { code: "engine_failed" } }]);
      expect(await answerAfterAll(server)).toContain(CAPITAL.answer);
      expect(server.stderr()).toMatch(logged);
      expect(server.stderr()).toContain("loading the model on the CPU");
      const { models } = await systemOf(server);
      expect(models[0]).toMatchObject({ device_fault: expect.stringContaining("Vulkan0"), placement: null });
      const cards: unknown = await (await fetch(`${server.url}/v1/models`)).json();
      expect(JSON.stringify(cards)).toMatch(/"placement":"on the CPU: Vulkan0 .* failed"/);
      inject("none");
      const reloaded = await postJson(`${server.url}/v1/models/reload`, { model_id: "svc-tiny" });
      expect(reloaded.status).toBe(200);
      expect((await systemOf(server)).models[0]).toMatchObject({
        device_fault: null,
        placement: { device_layers: 7 },
      });
      expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
    },
    LIMIT_MS,
  );

  test("without a fallback the model comes back on the device", async () => {
    const { server, inject } = await start([]);
    expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
    inject("crash");
    expect((await postChat(server.url, ask({ content: "What is 2 + 2?" }))).status).toBe(500);
    inject("none");
    expect(await answerAfterAll(server)).toContain(CAPITAL.answer);
    expect((await systemOf(server)).models[0]).toMatchObject({ placement: { device_layers: 7 } });
    expect(server.stderr()).toContain("with layers on Vulkan0");
  }, 120_000);

  test("out of device memory at the start: on the CPU with the fallback, else an error that names the device", async () => {
    const { server } = await start(["--device-fallback", "cpu"], "memory");
    expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
    expect(server.stderr()).toMatch(/loading failed \(.*Vulkan0 buffer.*\) with layers on Vulkan0/);
    expect((await systemOf(server)).models[0]?.device_fault).toContain("Vulkan0");
    const file = join(newFolder(), "fault");
    writeFileSync(file, "memory");
    const env = { ...OPTIONS.env, SVC_TEST_FAULT: file };
    const refused = await runBinary(["serve", "--port", "0"], { ...OPTIONS, env });
    expect([refused.exit, refused.err]).toEqual([1, expect.stringMatching(/Vulkan0 buffer/)]);
  }, 120_000);

  test("a driver that is not there: the doctor says so, and the model runs on the CPU", async () => {
    const env = { ...OPTIONS.env, VK_DRIVER_FILES: "/nowhere.json", VK_ICD_FILENAMES: "/nowhere.json" };
    const server = await startServer([], { ...OPTIONS, env });
    expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
    expect(await devicesOf(server)).toEqual(["CPU"]);
    const doctor = await runBinary(["doctor"], { ...OPTIONS, env });
    expect(doctor.out).toMatch(/accelerator/);
    expect(doctor.out).not.toMatch(/ok\s+accelerator\s+0: llvmpipe/);
  }, 120_000);
});
