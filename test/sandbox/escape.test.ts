// About a hundred ways out of the sandbox and a dozen ways to take more than one's share, in each mechanism, with a server
// that runs as root and with one that runs as an ordinary user. What the mechanisms do not contain is in docs/sandbox.md.

import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Mechanism } from "../../src/sandbox/types.ts";
import type { EscapeReport } from "../helpers/escape-run.ts";

const SCRIPT = join(import.meta.dir, "../helpers/escape-run.ts");
const RUN_MS = 240_000;
const NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

const isRoot = process.getuid?.() === 0;
const canBeTried = process.platform === "linux" && Bun.which("/usr/bin/python3") !== null;
/** With root's rights alone, another user cannot even read the sources. */
const isReadable = isRoot && Bun.which("setpriv") !== null && readableByAll(SCRIPT);

function readableByAll(path: string): boolean {
  const { exitCode } = Bun.spawnSync([...NOBODY, "cat", path], { stdio: ["ignore", "ignore", "ignore"] });
  return exitCode === 0;
}

/** Words to put before a command, by the user that it makes. */
const USERS: readonly (readonly [user: string, words: readonly string[] | undefined])[] = isRoot
  ? [
      ["root", []],
      ["an ordinary user", isReadable ? NOBODY : undefined],
    ]
  : [
      ["root", undefined],
      ["an ordinary user", []],
    ];

async function runAs(words: readonly string[], mechanism: string): Promise<EscapeReport> {
  const child = Bun.spawn([...words, process.execPath, SCRIPT, mechanism], {
    cwd: "/",
    env: { ...process.env, HOME: "/tmp" },
    stdio: ["ignore", "pipe", "inherit"],
    timeout: RUN_MS,
  });
  const text = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return JSON.parse(text) as EscapeReport; // printed by escape-run.ts
}

interface Suite {
  readonly user: string;
  readonly words: readonly string[];
  readonly mechanism: Mechanism;
}

const suites: Suite[] = [];
let begun: ReadonlyMap<Suite, Promise<EscapeReport>> | undefined;

/**
 * What came of a suite's run. All runs begin with the first call: those of different users side by side, as they mostly wait,
 * and those of one user in turn, as the caps of an ordinary user count all of its processes.
 */
function reportOf(suite: Suite): Promise<EscapeReport> {
  begun ??= new Map(
    [...Map.groupBy(suites, ({ user }) => user).values()].flatMap((turns) => {
      let last: Promise<unknown> = Promise.resolve();
      return turns.map((turn) => {
        const run = last.then(() => runAs(turn.words, turn.mechanism));
        last = run.catch(() => undefined);
        return [turn, run] as const;
      });
    }),
  );
  return begun.get(suite) ?? runAs(suite.words, suite.mechanism);
}

function skip(what: string): void {
  console.warn(`SKIPPED: ${what}`);
  test.skip(what, () => {});
}

for (const [user, words] of USERS) {
  for (const mechanism of ["bubblewrap", "launcher"] as const) {
    const title = `${mechanism}, server run by ${user}`;
    if (!canBeTried) skip(`${title}: needs Linux and /usr/bin/python3`);
    else if (words === undefined) skip(`${title}: that user cannot run the tests here`);
    else if (mechanism === "bubblewrap" && Bun.which("bwrap") === null)
      skip(`${title}: bwrap is not installed`);
    else {
      const suite = { user, words, mechanism };
      suites.push(suite);
      describe(title, () => declare(suite));
    }
  }
}

function declare(suite: Suite): void {
  const { mechanism } = suite;
  let report: EscapeReport;
  let isThere = false;

  beforeAll(async () => {
    report = await reportOf(suite);
    isThere = report.effective.mechanism === mechanism && report.effective.filesystem === "workdir";
    if (!isThere)
      console.warn(`SKIPPED: ${mechanism} does not work here: ${report.effective.warnings.join(" ")}`);
  }, RUN_MS);

  test.each([
    ["none", 115],
    ["loopback", 25],
    ["full", 45],
  ] as const)("network %s: every attempt was made and none succeeded", (network, least) => {
    if (!isThere) return;
    const attempts = report.attempts[network];
    expect(attempts.filter(({ escaped }) => escaped !== false)).toEqual([]);
    expect(attempts.length).toBeGreaterThanOrEqual(least);
  });

  test("nothing outside has changed, and nobody outside was hurt", () => {
    if (!isThere) return;
    const { outside, secret, traces, isVictimAlive, leftovers } = report;
    expect({ outside, secret, traces, isVictimAlive, leftovers }).toEqual({
      outside: ["datagram", "secret", "socket"],
      secret: "secret",
      traces: [],
      isVictimAlive: true,
      leftovers: [],
    });
  });

  const hog = (name: string) => {
    const found = report.hogs.find((candidate) => candidate.name === name);
    if (found === undefined) throw new Error(`there is no report on ${name}`);
    return found;
  };

  test.each(["forks", "threads"])("%s stop at the cap on processes", (name) => {
    if (!isThere) return;
    const made = Number(hog(name).stdout);
    expect(made).toBeGreaterThan(8);
    // With the launcher an ordinary user's other processes count too, and some of them end meanwhile.
    expect(made).toBeLessThanOrEqual(24 + (mechanism === "launcher" ? 16 : 0));
  });

  test("one process stops at the cap on memory", () => {
    if (!isThere) return;
    expect(Number(hog("memory").stdout)).toBeWithin(128, 257);
  });

  test.each([
    ["memory of many", "memory"],
    ["shared memory", "memory"],
    ["socket pairs", "memory"],
    ["pairs without one end", "memory"],
    ["connections", "memory"],
    ["processor of many", "cpu"],
    ["processor of the guard", "cpu"],
    ["disk", "disk"],
    ["files", "disk"],
    ["temporary files", "disk"],
  ] as const)("%s ends the whole tree", (name, limit) => {
    if (!isThere) return;
    expect(hog(name)).toMatchObject({ stdout: "", ending: { limit } });
  });

  test("a busy process ends at the cap on processor time", () => {
    if (!isThere) return;
    // Whoever comes first: the kernel, whose signal bubblewrap tells as a shell does, or the look at the whole tree.
    const { signal, code, limit } = hog("processor").ending;
    expect(limit ?? signal ?? code).toBeOneOf(["cpu", "SIGXCPU", 128 + 24]);
  });

  test("what a program leaves running ends with it", () => {
    if (!isThere) return;
    expect(hog("daemons").stdout).toBe("done\n");
    expect(report.leftovers).toEqual([]);
  });
}

const ordinary = USERS.find(([user]) => user !== "root")?.[1];

if (canBeTried && ordinary !== undefined) {
  test(
    "the attempts are real: without a sandbox they succeed",
    async () => {
      const { attempts } = await runAs(ordinary, "none");
      const made = Object.values(attempts).flat();
      const failed = made.filter(({ escaped }) => escaped !== true).map(({ name }) => name);
      // A kernel may refuse these two by itself.
      expect(failed.filter((name) => !/namespace|descriptor/.test(name))).toEqual([]);
      expect(made.length).toBeGreaterThan(20);
    },
    RUN_MS,
  );
}
