// How a server ends: by signal, at once or in peace, and never without its engines.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { type Server, startServer } from "../helpers/binary.ts";
import {
  ask,
  CAPITAL,
  COUNT_100,
  ENDLESS,
  FIRST_TEXT,
  openStream,
  postChat,
} from "../helpers/chat-client.ts";
import { isAlive } from "../helpers/processes.ts";
import { until, within } from "../helpers/until.ts";

/** A server with a loaded model, and a stream whose engine has just been halted in the middle of it. */
async function halted(prompt: { readonly content: string }, detached = false) {
  const server = await startServer([], { detached });
  await server.says("Ready.");
  const stream = await openStream(server.url, ask(prompt));
  await stream.readTo(FIRST_TEXT);
  const engine = server.enginePid();
  const resume = server.pauseEngine();
  return { server, stream, engine, resume };
}

function exitCode(server: Server, withinMs: number): Promise<number> {
  return within(withinMs, "the server ends", server.exited);
}

describe.each(["SIGTERM", "SIGINT"] as const)("%s", (signal) => {
  test("the running stream finishes, new requests are refused, exit code 0, no engine left", async () => {
    const { server, stream, engine, resume } = await halted(COUNT_100);
    server.kill(signal);
    await server.says("Stopping");
    const refused = await postChat(server.url, ask(CAPITAL));
    expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([503, true]);
    expect(await refused.json()).toMatchObject({ error: { code: "shutting_down", type: "server_error" } });
    resume();
    const { text, errors } = await stream.finish();
    expect({ text, errors }).toEqual({ text: COUNT_100.answer, errors: [] });
    expect(await exitCode(server, 5_000)).toBe(0);
    expect(isAlive(engine)).toBe(false);
  });

  test("a second one ends it at once", async () => {
    const { server, engine, resume } = await halted(ENDLESS);
    server.kill(signal);
    await server.says("Stopping");
    server.kill(signal);
    expect(await exitCode(server, 2_000)).toBe(1);
    resume(); // a halted process cannot notice that its parent is gone
    await until("the engine ends", () => !isAlive(engine), 5_000);
  });

  test("an idle server ends within a second", async () => {
    const server = await startServer();
    await server.says("Ready.");
    const engine = server.enginePid();
    server.kill(signal);
    expect(await exitCode(server, 1_000)).toBe(0);
    expect(isAlive(engine)).toBe(false);
  });
});

test("readiness falls first, liveness stays; after drain_timeout the stream gets its error", async () => {
  const server = await startServer(["--drain-timeout", "1"]);
  const status = async (path: string): Promise<number> => (await fetch(`${server.url}${path}`)).status;
  await server.says("Ready.");
  expect([await status("/ready"), await status("/health")]).toEqual([200, 200]);
  const stream = await openStream(server.url, ask(ENDLESS));
  await stream.readTo(FIRST_TEXT);
  server.kill("SIGTERM");
  await server.says("Stopping");
  const ready = await fetch(`${server.url}/ready`);
  expect([ready.status, await ready.json()]).toMatchObject([503, { error: { code: "shutting_down" } }]);
  expect(await status("/health")).toBe(200);
  const { errors } = await stream.finish();
  expect(errors).toHaveLength(1);
  expect(await exitCode(server, 5_000)).toBe(0);
});

test("a server whose model is loading is alive and not ready", async () => {
  const server = await startServer();
  const engines = await until("an engine is there", () => {
    const pids = server.enginePids();
    return pids.length > 0 && pids;
  });
  for (const pid of engines) process.kill(pid, "SIGSTOP");
  const loading = await fetch(`${server.url}/ready`);
  const health = await fetch(`${server.url}/health`);
  const isLoaded = server.stderr().includes("Ready.");
  if (!isLoaded) {
    expect([loading.status, health.status]).toEqual([503, 200]);
    expect(await loading.json()).toMatchObject({ error: { code: "model_unavailable" } });
  }
  for (const pid of engines) process.kill(pid, "SIGCONT");
  await server.says("Ready.");
  expect((await fetch(`${server.url}/ready`)).status).toBe(200);
});

test("Ctrl-C, which a terminal sends to engines as well, lets the stream finish", async () => {
  const { server, stream, engine, resume } = await halted(COUNT_100, true);
  process.kill(-server.pid, "SIGINT"); // the whole process group
  await server.says("Stopping");
  resume();
  const { text, errors } = await stream.finish();
  expect({ text, errors }).toEqual({ text: COUNT_100.answer, errors: [] });
  expect(await exitCode(server, 5_000)).toBe(0);
  expect(isAlive(engine)).toBe(false);
});

test("a signal while the model is still loading ends it with 0", async () => {
  const server = await startServer();
  const engines = server.enginePids();
  server.kill("SIGTERM");
  expect(await exitCode(server, 5_000)).toBe(0);
  expect(engines.filter(isAlive)).toEqual([]);
});

test("SIGKILL ends the engine too, even one that is halted and hears nothing", async () => {
  const { server, engine } = await halted(ENDLESS);
  server.kill("SIGKILL");
  await until("the engine ends", () => !isAlive(engine), 5_000);
});

test("SIGKILL ends an engine that is halted while it loads", async () => {
  const server = await startServer();
  // Its first act is to tie itself to its parent; the libraries come later.
  const engines = await until("an engine has its libraries", () => {
    const pids = server.enginePids();
    const isFar = (pid: number): boolean =>
      readFileSync(`/proc/${pid}/maps`, "utf8").includes("libsvc_llama");
    return pids.length > 0 && pids.every(isFar) && pids;
  });
  for (const pid of engines) process.kill(pid, "SIGSTOP");
  server.kill("SIGKILL");
  await until("the engine ends", () => !engines.some(isAlive), 5_000);
});
