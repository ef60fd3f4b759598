// How a server ends: by signal, at once or in peace, and never without its engines.

import { describe, expect, onTestFinished, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  HAS_TERMINAL,
  newFolder,
  openTerminal,
  type Server,
  spawnBinary,
  startServer,
  TINY_FILE,
} from "../helpers/binary.ts";
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

describe.skipIf(!HAS_TERMINAL)("a terminal that closes", () => {
  /** A server in a terminal of its own; `before` stands before it on the line. */
  async function inTerminal(before: string) {
    const folder = newFolder();
    const words = "serve --port 0 --host 127.0.0.1 2>log";
    const terminal = openTerminal(words, folder, `${before} echo $$ >pid; exec`);
    const log = () => readFileSync(join(folder, "log"), "utf8");
    await until("the server is ready", () => existsSync(join(folder, "log")) && log().includes("Ready."));
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    onTestFinished(() => {
      if (isAlive(pid)) process.kill(pid, "SIGKILL");
    });
    return { terminal, pid, log };
  }

  test("ends the server in peace", async () => {
    const { terminal, pid, log } = await inTerminal("");
    terminal.close();
    await until("the server ends", () => !isAlive(pid));
    expect(log()).toContain("Stopping");
    expect(log()).not.toContain("unexpectedly");
  });

  test("leaves one that nohup started, which then rereads its settings at a signal", async () => {
    const { terminal, pid, log } = await inTerminal("trap '' HUP;");
    terminal.close();
    await terminal.exited;
    await until("it rereads", () => {
      process.kill(pid, "SIGHUP");
      return log().includes("SIGHUP: nothing changed.");
    });
    expect(log()).not.toMatch(/Stopping|unexpectedly/);
  });
});

test("a command that is interrupted by it leaves nothing", async () => {
  const folder = newFolder();
  const child = spawnBinary(["quantize", TINY_FILE, "Q2_K", "--output", join(folder, "small.gguf")]);
  await until("it writes", () => readdirSync(folder).length > 0);
  child.kill("SIGHUP");
  expect(await child.exited).toBe(1);
  expect(readdirSync(folder)).toEqual([]);
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
