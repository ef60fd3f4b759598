// When an engine process is taken for hung, and when it is not.

import { expect, setSystemTime, test } from "bun:test";
import {
  type Activity,
  activityOf,
  EngineWatch,
  machineTime,
  type MachineTime,
  waitsOf,
} from "../../src/engine/watch.ts";
import { until } from "../helpers/until.ts";

interface Watched {
  readonly pings: () => number;
  /** Why it was taken for hung, once it was. */
  readonly hung: Promise<string>;
}

/** A machine whose clock shows so many milliseconds more, and as many stolen ones, at each look. */
function machine(stepMs: number, stolenMs = 0): () => MachineTime {
  let looks = 0;
  return () => ({ bootMs: ++looks * stepMs, stolenMs: looks * stolenMs });
}

/** Watches a process that answers its first pings and no others, at intervals of a sixth of the timeout. */
function watched(
  answered: number,
  activity: () => Activity | undefined,
  timeoutMs = 12,
  clock = machine(timeoutMs / 6),
): Watched {
  const hung = Promise.withResolvers<string>();
  let pings = 0;
  const watch = new EngineWatch({
    timeoutMs,
    ping: () => {
      pings++;
      if (pings <= answered) queueMicrotask(() => watch.heard());
    },
    activity,
    machine: clock,
    onHung: hung.resolve,
  });
  return { pings: () => pings, hung: hung.promise };
}

const still = (): Activity => ({ cpuTicks: 7, isHeldUp: false });

test("a process without CPU time and answers is hung", async () => {
  const { hung, pings } = watched(0, still);
  expect(await hung).toContain("no answer and no processor time");
  expect(pings()).toBe(2); // the first, and the one at the first look; no more are sent into the dark
});

test("a process that answers is not hung", async () => {
  const { hung, pings } = watched(40, still);
  await hung;
  expect(pings()).toBeGreaterThan(40);
});

test("a process that computes, waits for a disk, or cannot be inspected gets more time", async () => {
  let cpuTicks = 0;
  const computes = () => ({ cpuTicks: cpuTicks++, isHeldUp: false });
  const waits = () => ({ cpuTicks: 7, isHeldUp: true });
  for (const activity of [computes, waits, () => undefined]) {
    expect(await watched(0, activity, 3).hung).toMatch(/^no answer for/);
  }
});

test("time in which the machine stood does not count: suspended, halted, or its processors given to others", async () => {
  const suspended = machine(3_600_000);
  const stolen = machine(0.5, 0.4);
  for (const clock of [suspended, stolen])
    expect(await watched(0, still, 3, clock).hung).toMatch(/^no answer for/);
  for (const clock of [machine(0.9), machine(0.5, 0.1)])
    expect(await watched(0, still, 3, clock).hung).toContain("no processor time");
});

test("the machine's clocks are read from the system", async () => {
  const { bootMs, stolenMs } = machineTime();
  expect(stolenMs).toBeLessThan(bootMs);
  await until("the clock goes on", () => machineTime().bootMs > bootMs);
  expect(machineTime().bootMs - bootMs).toBeLessThan(600_000);
});

test("a clock step has no effect", async () => {
  const { hung, pings } = watched(20, () => {
    setSystemTime(new Date(pings() % 2 === 0 ? 0 : 4e12));
    return still();
  });
  try {
    await hung;
    expect(pings()).toBeGreaterThan(20);
  } finally {
    setSystemTime();
  }
});

test("the activity of a process is read from the system", () => {
  const before = activityOf(process.pid);
  let now = before;
  for (let i = 0; i < 1e6 && now?.cpuTicks === before?.cpuTicks; i++) now = activityOf(process.pid);
  expect(now?.cpuTicks).toBeGreaterThan(before?.cpuTicks ?? Infinity);
  expect(activityOf(2 ** 30)).toBeUndefined();
});

test("a thread that waits for a processor is held up; one that sleeps or is halted is not, and the log can say so", async () => {
  const asleep = Bun.spawn(["sleep", "60"]);
  const busy = Bun.spawn(["sh", "-c", "while :; do :; done"]);
  try {
    const said = /^threads: 1 × sleep S \S*; pressure on processors: /;
    await until("it sleeps", () => said.test(waitsOf(asleep.pid)));
    expect(activityOf(asleep.pid)?.isHeldUp).toBe(false);
    await until("it runs", () => waitsOf(busy.pid).includes("1 × sh R"));
    expect(activityOf(busy.pid)?.isHeldUp).toBe(true);
    busy.kill("SIGSTOP");
    await until("it is halted", () => activityOf(busy.pid)?.isHeldUp === false);
    expect(waitsOf(busy.pid)).toContain("1 × sh T");
  } finally {
    asleep.kill();
    busy.kill("SIGKILL");
  }
  expect(waitsOf(2 ** 30)).toBe("");
});
