// GET /ready: whether the server takes work. GET /health: whether it lives.

import { expect, test } from "bun:test";
import type { ModelControl, ModelState } from "../../src/core/model-info.ts";
import { testApp } from "../helpers/app.ts";

/** A model in a state. */
function control(state: Partial<ModelState>): ModelControl {
  const here = { id: "tiny", status: "loaded", ...state } as const;
  const later = async () => here;
  const pin = () => here;
  return {
    status: () => here,
    keep: () => undefined,
    pin,
    ensureLoaded: later,
    unload: later,
    reload: later,
  };
}

test.each([
  ["a loaded model", { control: control({}) }, 200, undefined],
  [
    "one that was unloaded, which a request loads",
    { control: control({ status: "unloaded" }) },
    200,
    undefined,
  ],
  ["one that is loading", { control: control({ status: "reloading" }) }, 503, "model_unavailable"],
  [
    "one that could not be loaded",
    { control: control({ status: "unloaded", error: "no" }) },
    503,
    "model_unavailable",
  ],
  ["a server that stops", { draining: () => true }, 503, "shutting_down"],
  [
    "a state that does not answer",
    {
      sessions: {
        get: () => {
          throw new Error("disk I/O error");
        },
        put: () => undefined,
        delete: () => undefined,
      },
    },
    503,
    "storage_unavailable",
  ],
] as const)("%s", async (_, deps, status, code) => {
  const app = testApp(undefined, deps as Parameters<typeof testApp>[1]);
  const response = await app.request("/ready");
  expect(response.status).toBe(status);
  const body = (await response.json()) as { error?: { code: string } };
  expect(body.error?.code).toBe(code);
  expect((await app.request("/health")).status).toBe(200);
});

test("browsers are sent from / to the web interface, all others get the health", async () => {
  const html = { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } };
  for (const [ui, location] of [
    [true, "/ui/"],
    [false, "/docs"],
  ] as const) {
    const app = testApp(undefined, { ui });
    const sent = await app.request("/", html);
    expect([sent.status, sent.headers.get("location")]).toEqual([302, location]);
    const asked = await app.request("/", { headers: { accept: "*/*" } });
    expect([asked.status, await asked.json()]).toEqual([200, { status: "ok" }]);
  }
});
