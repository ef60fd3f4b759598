// An engine that is stopped, killed at random moments, robbed of its file or its memory: its runs end with one error each,
// the server goes on, and the log and the metrics say what happened.

import { describe, expect, test } from "bun:test";
import { copyFileSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runShell, type Server, startServer, TINY_FILE } from "../helpers/binary.ts";
import {
  ask,
  CAPITAL,
  completeText,
  COUNT_30,
  ENDLESS,
  FIRST_TEXT,
  openStream,
  postChat,
} from "../helpers/chat-client.ts";
import { errorOf, expectServes } from "../helpers/faults.ts";
import { randomOf, seedOfRun } from "../helpers/seed.ts";
import { postJson } from "../helpers/post.ts";
import { isAlive } from "../helpers/processes.ts";
import { valueOf } from "../helpers/prometheus.ts";
import { until, within } from "../helpers/until.ts";

async function metric(server: Server, name: string): Promise<number> {
  return valueOf(await (await fetch(`${server.url}/metrics`)).text(), name) ?? Number.NaN;
}

test("an engine that stands still is replaced", async () => {
  const server = await startServer([], { env: { SVC_HANG_TIMEOUT: "3" } });
  await expectServes(server);
  const streams = await Promise.all([1, 2, 3].map(() => openStream(server.url, ask(ENDLESS))));
  await Promise.all(streams.map((stream) => stream.readTo(FIRST_TEXT)));
  const engine = server.enginePid();
  server.pauseEngine();
  const body = postChat(server.url, ask(CAPITAL));
  for (const { errors } of await Promise.all(streams.map((stream) => stream.finish()))) {
    expect(errors).toMatchObject([{ code: "engine_failed", message: expect.stringContaining("hung") }]);
  }
  const refused = await body;
  expect([refused.status, (await errorOf(refused)).code]).toEqual([500, "engine_failed"]);
  await expectServes(server);
  expect(isAlive(engine)).toBe(false);
  expect(await metric(server, "svc_engine_hangs_total")).toBe(1);
  expect(await metric(server, "svc_engine_restarts_total")).toBe(1);
  expect(server.stderr()).toMatch(/svc-tiny: the engine process hangs \(no answer and no processor time/);
});

test("an engine that stands still while nobody asks is replaced, too", async () => {
  const server = await startServer([], { env: { SVC_HANG_TIMEOUT: "2" } });
  await expectServes(server);
  server.pauseEngine();
  await until("it is replaced", async () => (await metric(server, "svc_engine_hangs_total")) === 1);
  await expectServes(server);
});

const KILLS = process.env["SVC_SLOW_TESTS"] === "1" ? 40 : 3;
/** Between two: an engine that failed often is started after up to ten seconds, and some answers of twelve clients on a busy machine. */
const KILL_MS = 20_000;

test(
  "kill -9 at random moments under mixed traffic: every answer is right or one clean error",
  async () => {
    const server = await startServer(["--max-seqs", "8"]);
    await expectServes(server);
    const random = randomOf(seedOfRun());
    const over = new AbortController();
    const seen = { right: 0, failed: 0 };
    const client = async (): Promise<void> => {
      while (!over.signal.aborted) {
        if (random() < 0.5) {
          const stream = await openStream(server.url, ask(COUNT_30));
          if (stream.status !== 200) {
            await stream.finish().catch(() => {}); // it is no stream
            expect([stream.status, JSON.parse(stream.received()).error.code]).toEqual([500, "engine_failed"]);
            seen.failed++;
            continue;
          }
          const { text, errors, raw } = await stream.finish();
          expect(COUNT_30.answer, raw).toStartWith(text);
          if (errors.length === 0) expect(text).toBe(COUNT_30.answer);
          else expect(errors).toMatchObject([{ code: "engine_failed" }]);
          seen[errors.length === 0 ? "right" : "failed"]++;
        } else {
          const response = await postChat(server.url, ask(CAPITAL));
          if (response.status === 200) {
            expect(await response.text()).toContain(CAPITAL.answer);
            seen.right++;
          } else {
            expect([response.status, (await errorOf(response)).code]).toEqual([500, "engine_failed"]);
            seen.failed++;
          }
        }
      }
    };
    const clients = Array.from({ length: 12 }, client);
    for (let kill = 0; kill < KILLS; kill++) {
      const pid = await until("there is an engine", () => server.enginePids()[0]);
      await until("it is ready", async () => (await fetch(`${server.url}/ready`)).ok, 3 * KILL_MS);
      const answered = seen.right + Math.floor(random() * 10);
      await until("some more is answered", () => seen.right > answered, 3 * KILL_MS);
      process.kill(pid, "SIGKILL");
      await until("it is gone", () => !isAlive(pid));
    }
    over.abort();
    await within(60_000, "all clients have their answers", Promise.all(clients));
    expect(seen.failed).toBeGreaterThan(0);
    await expectServes(server);
    expect(await metric(server, "svc_engine_restarts_total")).toBe(KILLS);
    await until("no sequence is left", async () => (await metric(server, "svc_running_sequences")) === 0);
  },
  KILLS * KILL_MS,
);

describe("a model file", () => {
  async function serving(): Promise<{ server: Server; file: string }> {
    const cwd = newFolder();
    const file = join(cwd, "model.gguf");
    copyFileSync(TINY_FILE, file);
    const server = await startServer(["-m", "model.gguf"], { cwd });
    await expectServes(server);
    return { server, file };
  }

  test("that is cut while it is loaded, and comes back", async () => {
    const { server, file } = await serving();
    truncateSync(file, 4096);
    // What was read from it may still do; but once the engine ends, it cannot be loaded again.
    const response = await postChat(server.url, ask(CAPITAL));
    if (response.status === 200) await response.body?.cancel();
    else expect((await errorOf(response)).code).toBeOneOf(["engine_failed", "model_unavailable"]);
    for (const pid of server.enginePids()) process.kill(pid, "SIGKILL");
    const refused = await until("it is refused", async () => {
      const next = await postChat(server.url, ask(CAPITAL));
      if (next.status === 503) return next;
      await next.body?.cancel();
      return undefined;
    });
    expect((await errorOf(refused)).code).toBe("model_unavailable");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    copyFileSync(TINY_FILE, file);
    await until("it serves again", async () => (await postChat(server.url, ask(CAPITAL))).status === 200);
    await expectServes(server);
  });

  test("that is replaced while it is loaded goes on as it was; reloading takes the new one", async () => {
    const { server, file } = await serving();
    const stream = await openStream(server.url, ask(COUNT_30));
    writeFileSync(`${file}.new`, "not a model");
    renameSync(`${file}.new`, file);
    expect((await stream.finish()).text).toBe(COUNT_30.answer);
    await expectServes(server);
    const reload = () => postJson(`${server.url}/v1/models/reload`, { model_id: "model" });
    const refused = await reload();
    expect(refused.status).toBe(503);
    await refused.body?.cancel();
    copyFileSync(TINY_FILE, file);
    expect((await reload()).status).toBe(200);
    await expectServes(server);
  });
});

/** Without util-linux nobody's limits can be changed from outside. */
const PRLIMIT = Bun.which("prlimit");

describe("no memory", () => {
  // Of data, for each process. The runtime makes do with what it gets; this much is needed to load anything.
  const [SCARCE_KIB, TOO_LITTLE_KIB] = [3_000_000, 1_500_000];

  test("at the start: the reason and exit code 1", async () => {
    const { exit, err } = await runShell(
      `ulimit -d ${SCARCE_KIB}; exec "$0" serve --host 127.0.0.1 --port 0 --pa-memory-mb 3072`,
    );
    expect(err).toContain("svc: svc-tiny: the context could not be created: too little memory");
    expect(exit).toBe(1);
  }, 60_000);

  test.skipIf(PRLIMIT === null)(
    "later: requests are told to come again, and served once there is some",
    async () => {
      const server = await startServer();
      await expectServes(server);
      const limit = async (bytes: string): Promise<void> => {
        const set = Bun.spawn([PRLIMIT ?? "", `--pid=${server.pid}`, `--data=${bytes}`]);
        expect(await set.exited).toBe(0);
      };
      await limit(`${TOO_LITTLE_KIB * 1024}:`);
      process.kill(server.enginePid(), "SIGKILL");
      const refused = await until("it is refused", async () => {
        const next = await postChat(server.url, ask(CAPITAL));
        if (next.status === 503) return next;
        await next.body?.cancel();
        return undefined;
      });
      expect((await errorOf(refused)).code).toBe("model_unavailable");
      await server.says("native code cannot be called: memory is short");
      await limit("unlimited:");
      await until("it serves again", async () => (await postChat(server.url, ask(CAPITAL))).status === 200);
      expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
    },
    60_000,
  );
});
