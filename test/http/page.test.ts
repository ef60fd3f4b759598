// What the web interface keeps on the server is not for pages of other origins, with keys or without.

import { expect, test } from "bun:test";
import { testApp } from "../helpers/app.ts";

const PATHS = [
  "/ui/runs/answer-of-sixteen",
  "/ui/history",
  "/ui/history/a",
  "/ui/day/log",
  "/ui/day/metrics",
  "/ui/mcp",
  "/ui/mcp/a",
  "/ui/mcp/a/token",
];

test.each(PATHS)("%s needs the header of the web interface", async (path) => {
  const { request } = testApp();
  const foreign = await request(path, { headers: { origin: "https://evil.example" } });
  expect(foreign.status).toBe(403);
  expect((await foreign.json()).error.message).toContain("x-svc-page: 1");
});

test.each(["x-svc-page", "x-svc-run", "x-svc-mcp-off"])(
  "a page of another origin cannot send %s",
  async (header) => {
    const response = await testApp().request("/ui/day/log", {
      method: "OPTIONS",
      headers: {
        origin: "https://evil.example",
        "access-control-request-method": "GET",
        "access-control-request-headers": header,
      },
    });
    expect(response.headers.get("access-control-allow-headers")?.toLowerCase()).not.toContain(header);
  },
);
