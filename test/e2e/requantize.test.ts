// Requantization and calibration while the model answers.

import { expect, test } from "bun:test";
import { copyFileSync, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { newFolder, type Server, startServer, TINY_FILE } from "../helpers/binary.ts";
import { ask, CAPITAL, completeText, COUNT_30 } from "../helpers/chat-client.ts";
import { until } from "../helpers/until.ts";

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function call(server: Server, path: string, body?: object): Promise<Answer> {
  const init =
    body === undefined
      ? {}
      : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(`${server.url}${path}`, init);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Asks without a pause; returns how many answers came, all of which were right. */
function keepAsking(server: Server): () => Promise<number> {
  const done = new AbortController();
  const client = async () => {
    let answers = 0;
    for (; !done.signal.aborted; answers++)
      expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
    return answers;
  };
  const clients = Array.from({ length: 4 }, client);
  return async () => {
    done.abort();
    return (await Promise.all(clients)).reduce((sum, answers) => sum + answers, 0);
  };
}

test("a model changes its weights under load, and no request is lost", async () => {
  const server = await startServer();
  await server.says("Ready.");
  const [engine] = server.enginePids();
  const stop = keepAsking(server);
  expect(await call(server, "/re_isq", { ggml_type: "q4_k_m" })).toEqual({
    status: 200,
    body: { status: "requantizing", model_id: "svc-tiny", ggml_type: "Q4_K_M" },
  });
  // All at once: the quantizer is not halted meanwhile.
  const [state, metrics, second] = await Promise.all([
    call(server, "/v1/models/status", { model_id: "svc-tiny" }),
    fetch(`${server.url}/metrics`).then((response) => response.text()),
    call(server, "/re_isq", { ggml_type: "Q4_0" }),
  ]);
  expect(state.body).toMatchObject({ status: "loaded", requantizing: { ggml_type: "Q4_K_M" } });
  expect(metrics).toContain("svc_requantizations 1");
  expect([second.status, second.body["error"]]).toMatchObject([409, { code: "requantization_in_progress" }]);
  await server.says("serving Q4_K_M weights now");
  await until("the old engine has ended", () => !server.enginePids().includes(engine ?? 0));
  expect(await stop()).toBeGreaterThan(4);
  expect(server.enginePids()).toHaveLength(1);
  expect(server.stderr()).not.toContain("unexpectedly");
}, 120_000);

test("calibration from live traffic: collected, saved, applied", async () => {
  const cwd = newFolder();
  const server = await startServer(["--isq", "Q4_K_M"], { cwd });
  await server.says("Ready.");
  const layers = 42;
  expect((await call(server, "/calibration/status")).body).toMatchObject({ collecting: false, layers });
  const early = await call(server, "/calibration/apply", {});
  expect([early.status, early.body["error"]]).toMatchObject([409, { code: "calibration_not_ready" }]);
  const started = await call(server, "/calibration/start", { min_rows: 50 });
  expect(started.body).toMatchObject({ collecting: true, layers_tracking: 0, total_rows: 0 });
  await completeText(server.url, ask(COUNT_30));
  const { body } = await call(server, "/calibration/status?model_id=svc-tiny");
  expect(body).toMatchObject({ collecting: true, layers, layers_tracking: layers });
  expect(Number(body["min_rows"])).toBeGreaterThan(50);
  const outside = await call(server, "/calibration/apply", { save_cimatrix: "../stolen.gguf" });
  expect(outside.status).toBe(400);
  const applied = await call(server, "/calibration/apply", { save_cimatrix: "imatrix.gguf" });
  expect(applied.body).toMatchObject({ collecting: false, layers_tracking: layers });
  expect(existsSync(join(cwd, "imatrix.gguf"))).toBe(true);
  await server.says("serving Q4_K_M weights now");
  expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
  await call(server, "/calibration/start", {});
  await completeText(server.url, ask(CAPITAL));
  const paths = Array.from({ length: 24 }, (_, index) => (index % 3 === 1 ? "start" : "apply"));
  const raced = await Promise.all(paths.map((path) => call(server, `/calibration/${path}`, {})));
  expect(raced.filter(({ status }) => status >= 500)).toEqual([]);
}, 120_000);

test("the card describes the weights that are served", async () => {
  const cwd = newFolder();
  copyFileSync(TINY_FILE, join(cwd, "own.gguf"));
  const server = await startServer(["-m", "own.gguf"], { cwd });
  await server.says("Ready.");
  const card = async () => {
    const response = await fetch(`${server.url}/v1/models/own`);
    return (await response.json()) as { quantization: string; size_bytes: number };
  };
  const before = await card();
  expect(before).toMatchObject({ quantization: "Q8_0", size_bytes: statSync(TINY_FILE).size });
  await call(server, "/re_isq", { ggml_type: "Q4_K_M" });
  await server.says("serving Q4_K_M weights now");
  const after = await card();
  expect(after.quantization).toBe("Q4_K_M");
  expect(after.size_bytes).toBeLessThan(before.size_bytes);
}, 120_000);

test("what cannot be done is said", async () => {
  const server = await startServer();
  await server.says("Ready.");
  const cases: readonly [string, object, number, string][] = [
    ["/re_isq", { ggml_type: "Q9_K" }, 400, "unsupported_value"],
    ["/re_isq", {}, 400, "missing_field"],
    ["/re_isq", { ggml_type: "IQ2_XXS" }, 400, "unsupported_value"],
    ["/re_isq", { ggml_type: "Q4_0", model_id: "none" }, 404, "model_not_found"],
    ["/calibration/start", { min_rows: 5, max_rows: 2 }, 400, "contradictory_fields"],
  ];
  for (const [path, body, status, code] of cases) {
    const answer = await call(server, path, body);
    expect([answer.status, answer.body["error"]]).toMatchObject([status, { code }]);
  }
}, 30_000);
