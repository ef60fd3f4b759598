// What an operator sees of a running server: metrics and the access log.

import { expect, test } from "bun:test";
import { startServer } from "../helpers/binary.ts";
import { ask, CAPITAL, completeText, ENDLESS, FIRST_TEXT, openStream } from "../helpers/chat-client.ts";
import { expectSound, valueOf } from "../helpers/prometheus.ts";
import { until } from "../helpers/until.ts";

const CHAT = "/v1/chat/completions";

test("metrics follow the engine through work, a client that leaves, and a crash", async () => {
  const server = await startServer();
  const scrape = async () => (await fetch(`${server.url}/metrics`)).text();
  const reaches = (name: string, wanted: (value: number) => boolean) =>
    until(name, async () => {
      const value = valueOf(await scrape(), name) ?? -1;
      return wanted(value) ? value : undefined;
    });

  await completeText(server.url, ask(CAPITAL));
  await completeText(server.url, ask(CAPITAL));
  await reaches("svc_prefix_cache_hits_total", (value) => value === 1);
  const stream = await openStream(server.url, ask(ENDLESS));
  await stream.readTo(FIRST_TEXT);
  await reaches("svc_running_sequences", (value) => value === 1);
  expect(await reaches("svc_kv_cells_used", (value) => value > 0)).toBeLessThan(1000);
  stream.abort();
  await reaches("svc_running_sequences", (value) => value === 0);
  await reaches("http_requests_in_flight", (value) => value === 0);

  const tokens = await reaches("svc_decode_tokens_total", (value) => value > 3);
  process.kill(server.enginePid(), "SIGKILL");
  await reaches("svc_engine_restarts_total", (value) => value === 1);
  await completeText(server.url, ask(CAPITAL));
  await reaches("svc_decode_tokens_total", (value) => value > tokens);
  const text = await scrape();
  expectSound(text);
  expect(valueOf(text, "svc_engine_resident_memory_bytes")).toBeGreaterThan(1e6);
  expect(valueOf(text, "http_requests_total", { path: CHAT, model: "svc-tiny", status: "200" })).toBe(4);
});

test("the access log is on stderr, and probes are not in it", async () => {
  const server = await startServer();
  await completeText(server.url, ask(CAPITAL));
  await fetch(`${server.url}/nope?secret=1`);
  await server.says("GET /nope 404");
  expect(server.stderr()).toMatch(
    new RegExp(`^\\S+Z POST ${CHAT} 200 [\\d.]+ms in=\\d+B model=svc-tiny id=req_`, "m"),
  );
  expect(server.stderr()).not.toContain("/health");
  expect(server.stderr()).not.toContain("secret");
  expect(server.stderr()).not.toContain("France");
});

test("settings change the log and switch things off", async () => {
  const server = await startServer([
    "--access-log-format",
    "json",
    "--access-log-health",
    "--disable-metrics",
    "--disable-request-id-header",
  ]);
  const response = await fetch(`${server.url}/health`);
  expect(response.headers.has("x-request-id")).toBe(false);
  expect((await fetch(`${server.url}/metrics`)).status).toBe(503);
  await server.says('"path":"/metrics"');
  const lines = server
    .stderr()
    .split("\n")
    .filter((line) => line.startsWith("{"));
  expect(lines.map((line) => JSON.parse(line).path)).toContain("/health");
});

test("no access log when it is switched off", async () => {
  const server = await startServer(["--disable-access-log"]);
  await fetch(`${server.url}/v1/models`);
  expect(await server.stop()).toBe(0);
  expect(server.stderr()).not.toContain("/v1/models");
});
