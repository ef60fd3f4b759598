// Cost of the sandbox:  bun bench/sandbox.ts [REPEATS]
// Time from start to exit of `true` in the sandbox, and of a Python cell in a warm session.

import { join } from "node:path";
import { openPython } from "../src/exec/python/sessions.ts";
import { runToEnd } from "../src/exec/run-to-end.ts";
import type { PythonSessions } from "../src/exec/types.ts";
import { openSandbox } from "../src/sandbox/sandbox.ts";
import type { Mechanism, Network, Sandbox } from "../src/sandbox/types.ts";
import { median } from "./stats.ts";

const SVC = join(import.meta.dir, "../svc");
const RUN_MS = 10_000;
const REPEATS = 50;

const CASES: readonly (readonly [Mechanism, Network])[] = [
  ["none", "full"],
  ["bubblewrap", "none"],
  ["bubblewrap", "full"],
  ["launcher", "none"],
  ["launcher", "full"],
];

/** Markdown table: medians with minimum and maximum. Mechanisms that this machine lacks have no row. */
export async function sandboxTable(repeats: number): Promise<string> {
  const rows: string[] = [];
  for (const [mechanism, network] of CASES) {
    const sandbox = await sandboxOf(mechanism, network);
    if (sandbox.effective.mechanism !== mechanism) continue;
    const starts = await startTimes(sandbox, repeats);
    const cells = await cellTimes(sandbox, repeats);
    rows.push(`| ${mechanism}, network ${network} | ${starts} | ${cells} |`);
  }
  return [
    "| sandbox, ms: median (min..max) | `true`, from start to end | a Python cell in a warm session |",
    "|---|--:|--:|",
    ...rows,
  ].join("\n");
}

function sandboxOf(mechanism: Mechanism, network: Network): Promise<Sandbox> {
  return openSandbox({
    policy: {
      mode: mechanism === "none" ? "off" : "auto",
      profile: "developer",
      network,
      limits: { memoryMb: 2048, cpuSecs: 600, procs: 64 },
    },
    environment: process.env,
    home: process.env["HOME"] ?? "/",
    ownCommand: [SVC],
    mechanisms: [mechanism],
  });
}

async function startTimes(sandbox: Sandbox, repeats: number): Promise<string> {
  const workdir = sandbox.newWorkdir("svc-bench-");
  const argv = ["/usr/bin/true"];
  try {
    return spread(await repeat(repeats, () => runToEnd(sandbox.spawn({ argv, workdir }), RUN_MS)));
  } finally {
    await sandbox.removeWorkdir(workdir);
  }
}

async function cellTimes(sandbox: Sandbox, repeats: number): Promise<string> {
  let python: PythonSessions;
  try {
    python = await openPython({
      sandbox,
      python: "python3",
      searchPath: process.env["PATH"] ?? "",
      warn: console.warn,
      timeoutSecs: 60,
    });
  } catch {
    return "no Python";
  }
  const { signal } = new AbortController();
  const cell = () =>
    python.run({ sessionId: "bench", client: "bench", code: "1 + 1", outputs: [], inputs: [] }, signal);
  try {
    await cell(); // starts the interpreter
    return spread(await repeat(repeats, cell));
  } finally {
    await python.close();
  }
}

async function repeat(times: number, work: () => Promise<unknown>): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let n = 0; n < times; n++) {
    const startedAt = performance.now();
    await work();
    taken.push(performance.now() - startedAt);
  }
  return taken;
}

function spread(values: readonly number[]): string {
  const [middle, least, greatest] = [median(values), Math.min(...values), Math.max(...values)];
  return `${middle.toFixed(1)} (${least.toFixed(1)}..${greatest.toFixed(1)})`;
}

if (import.meta.main) console.log(await sandboxTable(Number(process.argv[2] ?? REPEATS)));
