// Which web pages may use the server, where that is limited.

import { describe, expect, test } from "bun:test";
import { chatBody, testApp } from "../helpers/app.ts";
import { answer, playing } from "../helpers/run-events.ts";

const CHAT = "/v1/chat/completions";
const HERE = "localhost:1234";
const POLICY = {
  origins: ["https://app.example", "http://other.example:8080"],
  hosts: ["0.0.0.0", "box", "box.local"],
  foreign: "none",
  otherPorts: true,
} as const;

const limited = testApp(playing(answer("Hi")).generate, { originPolicy: POLICY });
const statusOf = async (origin: string, host: string): Promise<number> => {
  const headers = { "content-type": "application/json", origin, host };
  return (await limited.post(CHAT, chatBody(), { headers })).status;
};

test("programs send no origin", async () => {
  expect((await limited.post(CHAT, chatBody())).status).toBe(200);
});

test.each([
  ["http://localhost:5173", HERE],
  ["http://127.0.0.1:1234", HERE],
  ["http://[::1]:1234", HERE],
  ["https://app.example", HERE],
  ["HTTPS://APP.EXAMPLE", HERE],
  ["http://other.example:8080", HERE],
  ["http://box:1234", HERE],
  ["http://box.local:1234", HERE],
  ["http://192.168.1.5:1234", "192.168.1.5:1234"],
  ["http://[fd00::5]:1234", "[fd00::5]:1234"],
])("%s may", async (origin, host) => expect(await statusOf(origin, host)).toBe(200));

test.each([
  ["https://evil.example", HERE],
  ["https://app.example.evil.example", HERE],
  ["https://app.example:444", HERE],
  ["http://app.example", HERE],
  ["http://other.example", HERE],
  ["http://localhost.evil.example", HERE],
  ["http://127.0.0.1.evil.example", HERE],
  ["http://192.168.1.6:1234", "192.168.1.5:1234"],
  ["http://evil.example:1234", "evil.example:1234"], // a name that was made to point here
  ["null", HERE],
  ["file://", HERE],
  ["", HERE],
  ["rubbish", HERE],
])("%s may not", async (origin, host) => expect(await statusOf(origin, host)).toBe(403));

describe("a refusal", () => {
  test("says what to do, before anything is read, on every route that does something", async () => {
    for (const path of [CHAT, "/v1/messages", "/v1/responses", "/v1/files", "/v1/models/unload", "/nope"]) {
      const response = await limited.post(path, {}, { headers: { origin: "https://evil.example" } });
      expect(response.status).toBe(403);
      const { error } = await response.json();
      expect(error).toMatchObject({ code: "origin_not_allowed", type: "permission_error" });
      expect(error.message).toContain("--allowed-origins");
    }
  });
});

test("without a policy every page may, as the interface has it", async () => {
  const headers = { "content-type": "application/json", origin: "https://evil.example" };
  expect((await testApp().post(CHAT, chatBody(), { headers })).status).toBe(200);
});

describe("where foreign pages get answers of models", () => {
  const app = testApp(playing(answer("Hi")).generate, { originPolicy: { ...POLICY, foreign: "inference" } });
  const statusFrom = async (path: string, origin: string): Promise<number> => {
    const headers = { "content-type": "application/json", origin, host: HERE };
    return (await app.post(path, { model_id: "tiny" }, { headers })).status;
  };

  test.each([
    "/v1/models/unload",
    "/v1/models/pin",
    "/v1/models/unpin",
    "/v1/models/status",
    "/v1/files",
    "/v1/models/reload",
    "/v1/models/tune",
    "/v1/load_lora_adapter",
    "/v1/unload_lora_adapter",
    "/re_isq",
    "/calibration/start",
    "/calibration/apply",
    "/api/chat",
    "/api/generate/",
  ])("%s refuses foreign pages, and takes those of this machine", async (path) => {
    expect(await statusFrom(path, "https://evil.example")).toBe(403);
    expect(await statusFrom(path, "http://localhost:3000")).not.toBe(403);
  });

  test.each([CHAT, "/v1/messages", "/v1/responses", "/v1/embeddings", "/infill"])(
    "%s takes all, as the interface has it",
    async (path) => expect(await statusFrom(path, "https://evil.example")).not.toBe(403),
  );
});

test("files of the web interface are for any page: the frame of a preview has an opaque origin", async () => {
  const page = await (await limited.request("/ui/")).text();
  const script = /src="\.\/(?<name>[^"]+\.js)"/.exec(page)?.groups?.["name"] ?? "";
  const strangers: readonly Readonly<Record<string, string>>[] = [
    { origin: "null", "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "cross-site" },
    { origin: "https://evil.example" },
  ];
  for (const headers of strangers) {
    expect((await limited.request(`/ui/${script}`, { headers: { ...headers, host: HERE } })).status).toBe(
      200,
    );
    expect((await limited.request("/ui/history", { headers: { ...headers, host: HERE } })).status).toBe(403);
  }
});
