// Several devices, and a model that leaves its device.

import { beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, startServer } from "../helpers/binary.ts";
import { ask, CAPITAL, completeText, COUNT_30 } from "../helpers/chat-client.ts";
import { postJson } from "../helpers/post.ts";
import { startRpcWorker, WORKER_ENV } from "../helpers/rpc-worker.ts";
import { until } from "../helpers/until.ts";
import { installVulkan, IS_WANTED, OPTIONS, systemOf } from "./device.ts";

describe.skipIf(!IS_WANTED)("devices", () => {
  beforeAll(async () => void (await installVulkan()), 180_000);

  test("a model over a card and a worker of another machine answers as it does alone", async () => {
    const { port } = await startRpcWorker();
    const file = join(newFolder(), "both.toml");
    const device = `rpc = ["127.0.0.1:${port}"]\nrpc_token_source = "env:SVC_TEST_TOKEN"\ntensor_split = [1, 1]`;
    writeFileSync(file, `[[models]]\nmodel_id = "svc-tiny"\n[models.device]\n${device}\n`);
    const server = await startServer([file], { ...OPTIONS, env: { ...OPTIONS.env, ...WORKER_ENV } });
    expect(await completeText(server.url, ask(COUNT_30))).toBe(COUNT_30.answer);
    const { devices = [] } = (await systemOf(server)).models[0]?.placement ?? {};
    const holding = devices.filter(({ weights_bytes: bytes }) => bytes > 0).map(({ device: name }) => name);
    expect(holding).toEqual(expect.arrayContaining([expect.stringMatching(/^RPC0/), "Vulkan0"]));
    await server.stop();
  }, 120_000);

  test("a model that is unloaded leaves the device, and comes back there", async () => {
    const server = await startServer([], OPTIONS);
    expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
    const unloaded = await postJson(`${server.url}/v1/models/unload`, { model_id: "svc-tiny" });
    expect(unloaded.status).toBe(200);
    await until("no engine holds the device", () => server.enginePids().length === 0);
    expect((await systemOf(server)).models[0]?.placement).toBeNull();
    expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
    expect((await systemOf(server)).models[0]?.placement).toMatchObject({ device_layers: 7 });
    await server.stop();
  }, 120_000);
});
