// The Vulkan back end through the executable, on Mesa's software device. test/vulkan.sh prepares the machine.

import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { newFolder, runBinary, type Server, startServer } from "../helpers/binary.ts";
import { ask, CAPITAL, completeText } from "../helpers/chat-client.ts";
import { until } from "../helpers/until.ts";

const IS_WANTED = process.env["SVC_VULKAN_TESTS"] === "1";
const LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
if (IS_WANTED && !existsSync(LAVAPIPE))
  throw new Error(`${LAVAPIPE} is missing: install mesa-vulkan-drivers`);

/** Shaders are compiled once for all tests; the first compilation takes most of a minute on two cores. */
const shared = { cache: newFolder(), limitMs: 170_000 };
const ENV = {
  // ggml leaves software devices out unless they are chosen.
  GGML_VK_VISIBLE_DEVICES: "0",
  VK_DRIVER_FILES: LAVAPIPE,
  VK_ICD_FILENAMES: LAVAPIPE,
  MESA_SHADER_CACHE_DIR: newFolder(),
};
const OPTIONS = { ...shared, env: ENV };

interface SystemBody {
  readonly devices: readonly { readonly name: string; readonly type: string }[];
}

async function devicesOf(server: Server): Promise<readonly string[]> {
  const body = (await (await fetch(`${server.url}/v1/system/info`)).json()) as SystemBody; // the wire's shape is tested elsewhere
  return body.devices.map(({ name }) => name);
}

/** Kills the engine and waits for its successor: a request in between would be answered with its death. */
async function killEngine(server: Server): Promise<void> {
  const engine = server.enginePid();
  process.kill(engine, "SIGKILL");
  await until("the engine is gone", () => !server.enginePids().includes(engine));
  await until("a new engine", () => server.enginePids().length > 0);
}

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
    const installed = await runBinary(["backend", "install", "vulkan"], OPTIONS);
    expect([installed.exit, installed.out]).toEqual([0, expect.stringContaining("The answers are equal")]);
    const server = await startServer(["--cpu"], OPTIONS);
    onCpu = await answers(server);
    expect(await devicesOf(server)).toEqual(["CPU"]);
    await server.stop();
  }, 180_000);

  test("the device is listed, by the doctor too, and passes its test", async () => {
    expect((await runBinary(["backend", "list"], OPTIONS)).out).toMatch(/^vulkan\s+installed/m);
    expect((await runBinary(["doctor"], OPTIONS)).out).toMatch(/ok\s+accelerator\s+llvmpipe/);
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

  test("a killed engine comes back on the device", async () => {
    const server = await startServer([], OPTIONS);
    await completeText(server.url, ask(CAPITAL));
    await killEngine(server);
    expect(await answers(server)).toEqual(onCpu);
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
