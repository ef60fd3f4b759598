// GET /v1/models and the commands about a model.

import { describe, expect, test } from "bun:test";
import type { HubRepositoryDetails } from "../../src/core/hub.ts";
import { ServiceError } from "../../src/core/error.ts";
import {
  MEDIA_BYTES_MAX,
  PICTURE_PIXELS_MAX,
  REQUEST_MEDIA_BYTES_MAX,
  VIDEO_FRAMES_MAX,
} from "../../src/core/limits.ts";
import { modelAliases } from "../../src/http/model-alias.ts";
import { absentHub, testApp } from "../helpers/app.ts";
import { modelInfo } from "../helpers/model-info.ts";

const TINY = modelInfo("tiny");

test("a card names the model, its state and its public source", async () => {
  const { request } = testApp(undefined, {
    models: () => [
      modelInfo("small", {
        modalities: ["image"],
        mediaLimits: { imagesMax: 3, edgeMax: 2000 },
        root: "acme/tiny",
      }),
      modelInfo("file", { status: "unloaded" }),
    ],
  });
  expect(await (await request("/v1/models")).json()).toEqual({
    object: "list",
    data: [
      {
        id: "small",
        object: "model",
        created: 1,
        owned_by: "svc",
        kind: "text",
        status: "loaded",
        modalities: ["image"],
        media: {
          max_file_bytes: MEDIA_BYTES_MAX,
          max_request_bytes: REQUEST_MEDIA_BYTES_MAX,
          image: {
            formats: expect.arrayContaining(["JPEG", "WebP", "HEIC"]),
            formats_with_ffmpeg: [],
            max_images: 3,
            max_pixels: PICTURE_PIXELS_MAX,
            max_edge: 2000,
          },
          video: {
            formats: ["animated GIF", "animated WebP"],
            formats_with_ffmpeg: expect.arrayContaining(["MP4"]),
            max_frames: VIDEO_FRAMES_MAX,
          },
        },
        root: "acme/tiny",
      },
      { id: "file", object: "model", created: 1, owned_by: "svc", kind: "text", status: "unloaded" },
    ],
  });
});

test("cards tell the server's own tools as they are now", async () => {
  let mcpTools = 0;
  const { request } = testApp(undefined, {
    toolCounts: () => ({ isAny: mcpTools > 0, mcpTools, mcpServers: 2 }),
  });
  const card = async () => (await (await request("/v1/models")).json()).data[0];
  expect(await card()).toMatchObject({
    tools_available: false,
    mcp_tools_count: 0,
    mcp_servers_connected: 2,
  });
  mcpTools = 7;
  expect(await card()).toMatchObject({ tools_available: true, mcp_tools_count: 7, mcp_servers_connected: 2 });
});

describe("commands", () => {
  test("answer with the id and the state", async () => {
    const { post } = testApp();
    for (const [command, status] of [
      ["status", "loaded"],
      ["unload", "unloaded"],
      ["status", "unloaded"],
      ["reload", "loaded"],
    ]) {
      const response = await post(`/v1/models/${command}`, { model_id: "tiny", unknown: true });
      expect([response.status, await response.json()]).toEqual([200, { model_id: "tiny", status }]);
    }
  });

  test("take the name of an alias", async () => {
    const { post } = testApp(undefined, {
      aliases: modelAliases([{ name: "pirate", model: "tiny", defaults: { temperature: 0.3 } }]),
    });
    const response = await post("/v1/models/unload", { model_id: "pirate" });
    expect(await response.json()).toEqual({ model_id: "tiny", status: "unloaded" });
  });

  test("a failed load shows in the state, and is a 503 for who asked for it", async () => {
    const { post } = testApp(undefined, {
      control: {
        status: () => ({ id: "tiny", status: "unloaded", error: "it could not be loaded" }),
        keep: () => undefined,
        pin: () => ({ id: "tiny", status: "unloaded" }),
        ensureLoaded: async () => ({ id: "tiny", status: "loaded" }),
        unload: async () => ({ id: "tiny", status: "unloaded" }),
        reload: () => Promise.reject(new ServiceError("model_unavailable", "no", { retryAfterSecs: 5 })),
      },
    });
    const status = await post("/v1/models/status", { model_id: "tiny" });
    expect(await status.json()).toEqual({
      model_id: "tiny",
      status: "unloaded",
      error: "it could not be loaded",
    });
    const reload = await post("/v1/models/reload", { model_id: "tiny" });
    expect([reload.status, reload.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await reload.json()).toMatchObject({ error: { code: "model_unavailable", type: "server_error" } });
  });

  test.each(["status", "unload", "reload"])(
    "%s: an unknown model is a 404, a bad body a 400",
    async (command) => {
      const { post } = testApp();
      const path = `/v1/models/${command}`;
      const absent = await post(path, { model_id: "absent" });
      expect(absent.status).toBe(404);
      expect(await absent.json()).toMatchObject({
        error: { code: "model_not_found", type: "not_found_error", param: "model_id" },
      });
      for (const body of [{}, { model_id: 1 }, { model_id: "" }, { model_id: null }]) {
        const response = await post(path, body);
        expect(response.status).toBe(400);
        expect(await response.json()).toMatchObject({ error: { param: "model_id" } });
      }
      expect((await post(path, [])).status).toBe(400);
    },
  );

  test("pin and unpin: the state and the card say it", async () => {
    const { post, request } = testApp(undefined, {
      hub: absentHub(),
      models: () => [{ ...TINY, isPinned: true }],
    });
    for (const [command, pinned] of [
      ["pin", true],
      ["status", true],
      ["unpin", false],
    ]) {
      const response = await post(`/v1/models/${command}`, { model_id: "tiny" });
      expect(await response.json()).toEqual({ model_id: "tiny", status: "loaded", pinned });
    }
    expect((await (await request("/v1/models")).json()).data[0]).toMatchObject({ pinned: true });
    expect((await post("/v1/models/pin", { model_id: "absent" })).status).toBe(404);
    expect(await (await post("/v1/models/pin", {})).json()).toMatchObject({ error: { param: "model_id" } });
  });

  test.each([
    ["for clients that may not change models", absentHub(() => false), 404, "route_not_found"],
    ["on a server whose models nobody may change", undefined, 405, "method_not_allowed"],
  ])("pin is absent %s", async (_, hub, status, code) => {
    const { post } = testApp(undefined, { ...(hub && { hub }) });
    const response = await post("/v1/models/pin", { model_id: "tiny" });
    expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }]);
  });

  test("a server that stops loads nothing any more", async () => {
    const { post } = testApp(undefined, { draining: () => true });
    const response = await post("/v1/models/reload", { model_id: "tiny" });
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: "shutting_down" } });
  });
});

describe("tuning", () => {
  test("takes a model and a profile; without them the default ones", async () => {
    const asked: (readonly [string, string])[] = [];
    const { post } = testApp(undefined, {
      tune: async (name, profile) => {
        asked.push([name, profile]);
        throw new ServiceError("tuning_conflict", "later", { retryAfterSecs: 5 });
      },
    });
    await post("/v1/models/tune", {});
    const answer = await post("/v1/models/tune", { model_id: "tiny", profile: "fast", cpu: null });
    expect(asked).toEqual([
      ["default", "balanced"],
      ["tiny", "fast"],
    ]);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([409, "5"]);
    expect(await answer.json()).toMatchObject({ error: { code: "tuning_conflict", type: "conflict_error" } });
  });

  test.each([
    [{ profile: "best" }, "profile", "unsupported_value"],
    [{ model_id: 1 }, "model_id", "invalid_request"],
    [{ max_seq_len: 4096 }, "max_seq_len", "unsupported_value"],
    [{ max_seq_len: "long" }, "max_seq_len", "invalid_request"],
    [{ dtype: "f16" }, "dtype", "unsupported_value"],
  ])("refuses %j", async (body, param, code) => {
    const answer = await testApp().post("/v1/models/tune", body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code, param } });
  });

  test("estimates what only the hub has; other names are unknown", async () => {
    const hub = absentHub();
    const asked: string[] = [];
    const details = { id: "a/b", commit: "c", models: [] } as unknown as HubRepositoryDetails;
    const repository = async (name: string) => (asked.push(name), details);
    const { post } = testApp(undefined, {
      hub: { ...hub, hub: { ...hub.hub, repository } },
      tune: async () => {
        throw new ServiceError("model_not_found", "no such model", { param: "model_id" });
      },
    });
    const answer = await post("/v1/models/tune", { model_id: "a/b:Q4_0" });
    expect(await answer.json()).toMatchObject({ measurements: [], recommended: {}, estimate: { id: "a/b" } });
    expect(asked).toEqual(["a/b"]);
    expect((await post("/v1/models/tune", { model_id: "absent" })).status).toBe(404);
  });

  test("is refused while the server stops", async () => {
    const { post } = testApp(undefined, { draining: () => true });
    expect((await post("/v1/models/tune", {})).status).toBe(503);
  });
});
