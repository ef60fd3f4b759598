// What an operator sees of a running server: metrics, the access log, the state of the machine.

import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { DoctorReport, SystemInfo } from "../../src/core/system.ts";
import { runBinary, startServer, TINY_FILE } from "../helpers/binary.ts";
import { ask, CAPITAL, completeText, ENDLESS, FIRST_TEXT, openStream } from "../helpers/chat-client.ts";
import { expectSound, valueOf } from "../helpers/prometheus.ts";
import { tempDir } from "../helpers/tmp.ts";
import { until } from "../helpers/until.ts";

const CHAT = "/v1/chat/completions";

test("metrics follow the engine through work, a client that leaves, and a crash", async () => {
  const server = await startServer();
  const scrape = async () => (await fetch(`${server.url}/metrics`)).text();
  const reaches = (
    name: string,
    wanted: (value: number) => boolean,
    labels: Readonly<Record<string, string>> = {},
  ) =>
    until(name, async () => {
      const value = valueOf(await scrape(), name, labels) ?? -1;
      return wanted(value) ? value : undefined;
    });

  await completeText(server.url, ask(CAPITAL));
  await completeText(server.url, ask(CAPITAL));
  await reaches("svc_prefix_cache_hits_total", (value) => value === 1);
  const stream = await openStream(server.url, ask(ENDLESS));
  await stream.readTo(FIRST_TEXT);
  await reaches("svc_running_sequences", (value) => value === 1);
  const cells = await reaches("svc_kv_cells", (value) => value > 0);
  expect(await reaches("svc_kv_cells_used", (value) => value > 0)).toBeLessThanOrEqual(cells);
  stream.abort();
  await reaches("svc_running_sequences", (value) => value === 0);
  await reaches("http_requests_in_flight", (value) => value === 0, { method: "POST", path: CHAT });

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

test("no access log when it is switched off; the log of payloads where it is asked for, by either name", async () => {
  const folder = tempDir();
  writeFileSync(
    join(folder, "svc.toml"),
    '[[models]]\nmodel_id = "svc-tiny"\n[global]\nlog = "payloads.jsonl"\n',
  );
  const server = await startServer(["--disable-access-log", join(folder, "svc.toml")]);
  await fetch(`${server.url}/v1/models`);
  await server.says("written to ");
  expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
  expect(await server.stop()).toBe(0);
  expect(server.stderr()).not.toContain("/v1/models");
  const line = JSON.parse(readFileSync(join(folder, "payloads.jsonl"), "utf8"));
  expect(line).toMatchObject({ route: "/v1/chat/completions", status: 200, request: ask(CAPITAL) });
  expect(line.response.choices[0].message.content).toBe(CAPITAL.answer);
  writeFileSync(join(folder, "log.toml"), '[[models]]\nmodel_id = "svc-tiny"\n[log]\npayloads = "x.jsonl"\n');
  const shown = await runBinary(["config", "show", join(folder, "log.toml")]);
  expect(shown.out).toContain(join(folder, "x.jsonl"));
});

test("the machine, the model and the doctor's view over HTTP", async () => {
  const server = await startServer();
  await completeText(server.url, ask(CAPITAL));
  const info = await (await fetch(`${server.url}/v1/system/info`)).json();
  expect([...Value.Errors(SystemInfo, info)]).toEqual([]);
  expect(info.compat).toBe("strict");
  await server.says("compat  strict");
  expect(info.models).toMatchObject([
    { id: "svc-tiny", status: "loaded", architecture: "llama" },
    { id: "svc-voice", status: "unloaded", architecture: null },
  ]);
  expect(info.models[0].size_bytes).toBeGreaterThan(1e6);
  expect(info.devices.map(({ type }: { type: string }) => type)).toContain("cpu");
  expect(info.cpu.features).toContain("OPENMP");
  if (process.platform === "linux") expect(info.cpu.variant).toBeString();
  const report = await (await fetch(`${server.url}/v1/system/doctor`, { method: "POST" })).json();
  expect([...Value.Errors(DoctorReport, report)]).toEqual([]);
  expect(report.ok).toBe(true);
  for (const text of [JSON.stringify(info), JSON.stringify(report)]) expect(text).not.toContain("/tmp");
});

describe("svc doctor", () => {
  const folder = tempDir();
  const port = ["--host", "127.0.0.1", "--port", "0"];

  test("finds nothing wrong: a table, 0", async () => {
    const { exit, out } = await runBinary(["doctor", ...port]);
    expect(exit).toBe(0);
    expect(out).toMatch(/^ok {4}engine +llama\.cpp .* starts$/m);
    expect(out).toContain("0 failures");
  });

  test("finds a broken model: JSON, 1", async () => {
    const file = join(folder, "cut.gguf");
    writeFileSync(file, readFileSync(TINY_FILE).subarray(0, 1_000_000));
    const { exit, out } = await runBinary(["doctor", "--json", "-m", file, ...port]);
    expect(exit).toBe(1);
    const report = JSON.parse(out);
    expect([...Value.Errors(DoctorReport, report)]).toEqual([]);
    expect(report.checks).toContainEqual(expect.objectContaining({ name: "model cut", status: "fail" }));
  });
});
