// LiteLLM's proxy between two svc: the front asks it by each of its three APIs, it asks a svc with the built-in model.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { launchServer, newFolder, type Server } from "../helpers/binary.ts";
import { rejection } from "../helpers/failure.ts";
import { entry, type Front, startFront } from "./front.ts";
import {
  describeWithPrograms,
  LITELLM,
  metricOf,
  type Running,
  SETUP_MS,
  startProgram,
  stopAll,
  stopLater,
} from "./programs.ts";
import * as suite from "./suite.ts";

const KEY = "sk-litellm-test";

describeWithPrograms(LITELLM)("LiteLLM's proxy", () => {
  let back: Server;
  let proxy: Running;
  let front: Front;
  afterAll(stopAll);
  beforeAll(async () => {
    back = await launchServer([]);
    stopLater(() => back.stop());
    const settings = join(newFolder(), "litellm.yaml");
    const params = { model: "openai/svc-tiny", api_base: `${back.url}/v1`, api_key: "none" };
    await Bun.write(
      settings,
      JSON.stringify({
        model_list: [{ model_name: "tiny", litellm_params: params }],
        litellm_settings: { drop_params: false, telemetry: false },
        general_settings: { master_key: KEY },
      }),
    );
    proxy = await startProgram({
      program: LITELLM,
      args: (port) => ["--config", settings, "--host", "127.0.0.1", "--port", String(port)],
      ready: "/health/liveliness",
      env: { LITELLM_LOCAL_MODEL_COST_MAP: "True", NO_DOCS: "True", DISABLE_ADMIN_UI: "True" },
    });
    const upstream = { url: `${proxy.url}/v1`, model: "tiny", key: `literal:${KEY}` };
    front = await startFront([
      entry("chat", [upstream]),
      entry("locked", [{ ...upstream, key: "literal:sk-another" }]),
    ]);
  }, SETUP_MS);

  describe("by chat", () => {
    suite.dialectTests(
      "chat",
      () => front,
      () => metricOf(back.url, "svc_running_sequences"),
    );
    suite.schemaTests("chat", () => front);
    suite.completionTests("chat", () => front);
    suite.embeddingTests("chat", () => front);
  });

  test("a key that it refuses is the operator's affair", async () => {
    const messages = [{ role: "user" as const, content: "Hi" }];
    const refused = await rejection(front.openAi.chat.completions.create({ model: "locked", messages }));
    expect(refused).toMatchObject({ status: 503 });
    const [upstream] = await front.upstreams("locked");
    expect(upstream?.problem).toBe("status 400 for its model list"); // it looks keys up in a database, and has none
    expect(JSON.stringify(await front.upstreams("chat"))).not.toContain(KEY);
  });
});
