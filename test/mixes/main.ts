// `npm run test:mixes`: random mixes of requests with drafts of every kind, beside the same requests alone without drafts, on
// batch-invariant kernels: equal to the last bit of a log probability. Prints counts, and of a mix that differs the smallest part
// that still does.
//
//   bun test/mixes/main.ts [--mixes N] [--from N] [--seconds N] [--world NAMES]

import { parseArgs } from "node:util";
import { MixBatch } from "./batch.ts";
import type { MixResult } from "./mix.ts";
import { smallest } from "./shrink.ts";
import { openPair, WORLDS } from "./worlds.ts";

/** Mixes of a batch. */
const BATCH = 100;
const FAILURES_MAX = 5;

const { values } = parseArgs({
  options: {
    mixes: { type: "string", default: "10000" },
    from: { type: "string", default: "0" },
    seconds: { type: "string", default: "100000" },
    world: { type: "string" },
  },
});

if (process.env.SVC_BATCH_INVARIANT !== "1") {
  // The native libraries read the switch once, so a process of its own runs.
  const child = Bun.spawn([process.execPath, ...process.argv.slice(1)], {
    env: { ...process.env, SVC_BATCH_INVARIANT: "1", GOMP_SPINCOUNT: "500" },
    stdio: ["ignore", "inherit", "inherit"],
  });
  process.exit(await child.exited);
}

const COLUMNS = ["mixes", "requests", "aborted", "refused", "drafted", "accepted", "preemptions"] as const;
type Tally = Record<(typeof COLUMNS)[number], number>;

const tallies = new Map<string, Tally>();
const started = performance.now();
const end = Number(values.from) + Number(values.mixes);
const isOver = (): boolean =>
  failures >= FAILURES_MAX || performance.now() - started > 1000 * Number(values.seconds);
let failures = 0;
let next = Number(values.from);
while (next < end && !isOver()) next = await batchFrom(next);
report();
process.exit(failures > 0 ? 1 : 0);

/** The mixes of one world up to the next multiple of BATCH. Returns the number of the next mix. */
async function batchFrom(from: number): Promise<number> {
  const number = Math.floor(from / BATCH);
  const to = Math.min(end, BATCH * (number + 1));
  const worlds = WORLDS.filter(
    ({ name }) => values.world === undefined || values.world.split(",").includes(name),
  );
  const world = worlds[number % worlds.length];
  if (world === undefined) throw new Error(`the worlds are ${WORLDS.map(({ name }) => name).join(", ")}`);
  const pair = await openPair(world, 1 + (number % 2));
  if (typeof pair === "string") {
    console.warn(`Skipped: ${world.name} (${pair}).`);
    return to;
  }
  const batch = new MixBatch(world, pair, number);
  let at = from;
  for (; at < to && !isOver(); at++) {
    const mix = batch.mixAt(at);
    const result = batch.run(mix);
    count(world.name, result);
    if (batch.differenceIn(mix, result) === undefined) continue;
    failures++;
    const small = smallest(mix, (some) => batch.differenceIn(some, batch.run(some)));
    console.log(`mix ${at} of ${world.name} differs: ${small.verdict ?? "not when run again"}`);
    console.log(JSON.stringify(small.mix));
  }
  pair.close();
  return at;
}

function count(world: string, { outcomes, drafted, accepted, preemptions }: MixResult): void {
  const tally = tallies.get(world) ?? (Object.fromEntries(COLUMNS.map((name) => [name, 0])) as Tally);
  const aborted = outcomes.filter(({ isAborted }) => isAborted).length;
  const refused = outcomes.filter(({ error }) => error !== undefined).length;
  const more: Tally = {
    mixes: 1,
    requests: outcomes.length,
    aborted,
    refused,
    drafted,
    accepted,
    preemptions,
  };
  for (const name of COLUMNS) tally[name] += more[name];
  tallies.set(world, tally);
}

function report(): void {
  console.log(`| world | ${COLUMNS.join(" | ")} |\n|${"---|".repeat(COLUMNS.length + 1)}`);
  for (const [world, tally] of tallies)
    console.log(`| ${world} | ${COLUMNS.map((name) => tally[name]).join(" | ")} |`);
  const mixes = Array.from(tallies.values()).reduce((sum, tally) => sum + tally.mixes, 0);
  console.log(`${mixes} mixes, ${failures} differ; the next one is --from ${next}`);
}
