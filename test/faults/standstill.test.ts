// A machine that stands still is no hang: the executable's processes stopped by signals, or frozen by the kernel as a container is that
// is paused, for several hang timeouts, in the middle of an answer. Once they go on, so does the answer, and no engine was replaced. Slow.

import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { type Server, startServer } from "../helpers/binary.ts";
import { ask, COUNT_30, FIRST_TEXT, openStream } from "../helpers/chat-client.ts";
import { expectServes } from "../helpers/faults.ts";
import { valueOf } from "../helpers/prometheus.ts";
import { until } from "../helpers/until.ts";

const TIMEOUT_S = 2;

/** Halts processes; returns how they go on. */
type Halt = (pids: readonly number[]) => () => void;

const bySignal: Halt = (pids) => {
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  return () => {
    for (const pid of pids) process.kill(pid, "SIGCONT");
  };
};

/** Control groups that can freeze: version 2, or version 1's freezer; the file and its words. */
const FREEZERS = [
  { root: "/sys/fs/cgroup", file: "cgroup.freeze", on: "1", off: "0", proof: "/sys/fs/cgroup/cgroup.procs" },
  {
    root: "/sys/fs/cgroup/freezer",
    file: "freezer.state",
    on: "FROZEN",
    off: "THAWED",
    proof: "/sys/fs/cgroup/freezer/cgroup.procs",
  },
] as const;
const freezer = FREEZERS.find(({ proof }) => existsSync(proof) && process.getuid?.() === 0);
const folder = freezer === undefined ? "" : `${freezer.root}/svc-standstill-${process.pid}`;

const byFreezer: Halt = (pids) => {
  if (freezer === undefined) throw new Error("there is no freezer");
  mkdirSync(folder, { recursive: true });
  for (const pid of pids) writeFileSync(`${folder}/cgroup.procs`, String(pid));
  writeFileSync(`${folder}/${freezer.file}`, freezer.on);
  return () => {
    writeFileSync(`${folder}/${freezer.file}`, freezer.off);
    for (const pid of pids) writeFileSync(`${freezer.root}/cgroup.procs`, String(pid));
  };
};
afterAll(() => {
  if (folder !== "" && existsSync(folder)) rmdirSync(folder);
});

const everything = (server: Server): readonly number[] => [server.pid, server.enginePid()];

type Row = [string, Halt, (server: Server) => readonly number[], timeouts: number];
const SIGNALS: Row[] = [
  ["server and engine are stopped", bySignal, everything, 3],
  ["the server alone is stopped", bySignal, ({ pid }) => [pid], 3],
];
const FROZEN: Row[] = [
  ["server and engine are frozen", byFreezer, everything, 3],
  ["the engine alone is frozen", byFreezer, (server) => [server.enginePid()], 1.5],
];

describe.skipIf(process.env["SVC_SLOW_TESTS"] !== "1")("nothing is replaced while", () => {
  test.each([...SIGNALS, ...(freezer === undefined ? [] : FROZEN)])("%s", async (_, halt, whom, timeouts) => {
    const server = await startServer([], { env: { SVC_HANG_TIMEOUT: String(TIMEOUT_S) } });
    await expectServes(server);
    const engine = server.enginePid();
    const stream = await openStream(server.url, ask(COUNT_30));
    await stream.readTo(FIRST_TEXT);
    const goOn = halt(whom(server));
    const began = performance.now();
    const isOver = (): boolean => performance.now() - began > timeouts * TIMEOUT_S * 1000;
    await until("several timeouts are over", isOver, 60_000);
    goOn();
    const { text, errors } = await stream.finish();
    expect([text, errors]).toEqual([COUNT_30.answer, []]);
    // The server has looked at the engine since.
    await expectServes(server);
    expect(server.enginePid()).toBe(engine);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(valueOf(metrics, "svc_engine_hangs_total") ?? 0).toBe(0);
    expect(server.stderr()).not.toContain("hangs");
  });
  if (freezer === undefined)
    test.skip("processes are frozen: no control group can freeze them here", () => {});
});
