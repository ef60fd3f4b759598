// A server under mixed traffic for a while: nothing leaks, nothing is lost or told twice, and what it counts is what its
// clients saw. Seven seconds here, two minutes in .ci/run; `bun test/soak/main.ts --minutes 30` takes its time.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, type Server, startServer } from "../helpers/binary.ts";
import { expectServes, openFiles } from "../helpers/faults.ts";
import { randomOf, seedOfRun } from "../helpers/seed.ts";
import { expectSound, samples, valueOf } from "../helpers/prometheus.ts";
import { until } from "../helpers/until.ts";
import { KINDS, pick, type Seen } from "./traffic.ts";

const MINUTES = Number(process.env["SVC_SOAK_MINUTES"] ?? "0.12");
const STREAMS = Number(process.env["SVC_SOAK_STREAMS"] ?? "32");
/** Of the time; what is measured before it does not count. */
const WARM_UP = 0.4;
const SAMPLE_MS = 250;
/** Memory may grow by this much after the warm-up of a short soak, MiB: heaps breathe. */
const BREATH_MIB = 96;
/** Where there is time to see a trend, it may be this much, MiB a minute. */
const TREND_MINUTES = 10;
const TREND_MIB_MAX = 0.5;

const RED = join(import.meta.dir, "../fixtures/lora/red");
const PYTHON = Bun.which("python3") !== null;
const kinds = KINDS.filter(({ name }) => PYTHON || name !== "Python");

interface Sample {
  readonly minutes: number;
  readonly serverMib: number;
  readonly engineMib: number;
  readonly files: number;
}

function residentMib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

/** Least squares: the change of y a unit of x. */
function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(([one]) => one)), mean(points.map(([, one]) => one))];
  const products = points.reduce((sum, [a, b]) => sum + (a - x) * (b - y), 0);
  return products / points.reduce((sum, [a]) => sum + (a - x) ** 2, 0);
}

const scrape = async ({ url }: Server): Promise<string> => (await fetch(`${url}/metrics`)).text();

/** Waits until no request is under way and no sequence or cell is held. */
async function untilQuiet(server: Server): Promise<string> {
  return until("nothing is under way", async () => {
    const text = await scrape(server);
    const open = samples(text).filter(({ name }) => name === "http_requests_in_flight");
    const busy = ["svc_running_sequences", "svc_queue_depth", "svc_kv_cells_used"];
    const isQuiet = open.every(({ value }) => value === 0) && busy.every((name) => valueOf(text, name) === 0);
    return isQuiet ? text : undefined;
  });
}

async function command({ url }: Server, path: string, body: object): Promise<number> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  await response.text();
  return response.status;
}

interface Run {
  readonly seen: readonly Seen[];
  readonly samples: readonly Sample[];
  readonly counts: ReadonlyMap<string, number>;
  readonly failures: readonly string[];
}

async function soak(server: Server): Promise<Run> {
  const random = randomOf(seedOfRun());
  const seen: Seen[] = [];
  const counts = new Map<string, number>();
  const failures: string[] = [];
  const taken: Sample[] = [];
  const begun = performance.now();
  const minutes = (): number => (performance.now() - begun) / 60_000;
  const client = async (): Promise<void> => {
    while (minutes() < MINUTES && failures.length < 10) {
      const kind = pick(kinds, random);
      try {
        seen.push(...(await kind.send({ url: server.url, random })));
        counts.set(kind.name, (counts.get(kind.name) ?? 0) + 1);
      } catch (error) {
        failures.push(`${kind.name}: ${String(error)}`);
      }
    }
  };
  const sampler = setInterval(() => {
    const engine = server.enginePid();
    const [serverMib, engineMib] = [residentMib(server.pid), residentMib(engine)];
    taken.push({ minutes: minutes(), serverMib, engineMib, files: openFiles(server.pid) });
  }, SAMPLE_MS);
  await Promise.all(Array.from({ length: STREAMS }, client));
  clearInterval(sampler);
  return { seen, samples: taken, counts, failures };
}

function expectNoLeak(all: readonly Sample[]): void {
  const late = all.filter(({ minutes }) => minutes > MINUTES * WARM_UP);
  expect(late.length).toBeGreaterThan(10);
  for (const key of ["serverMib", "engineMib", "files"] as const) {
    const values = late.map((sample) => sample[key]);
    const trend = slope(late.map((sample) => [sample.minutes, sample[key]]));
    const half = Math.floor(values.length / 2);
    const low = (part: readonly number[]): number => Math.min(...part);
    const growth = low(values.slice(half)) - low(values.slice(0, half));
    console.log(
      `  ${key.padEnd(10)} ${values[0]?.toFixed(0)} → ${values.at(-1)?.toFixed(0)}, most ${Math.max(...values).toFixed(0)}, trend ${trend.toFixed(2)} a minute`,
    );
    if (MINUTES < TREND_MINUTES) expect(growth, key).toBeLessThan(key === "files" ? STREAMS : BREATH_MIB);
    else expect(trend, key).toBeLessThan(TREND_MIB_MAX);
  }
}

/** Every answer that a client saw is counted once, under its path and status; and so are its tokens. */
function expectCounted(text: string, before: string, seen: readonly Seen[]): void {
  expectSound(text);
  const tally = new Map<string, number>();
  for (const { path, status } of seen) {
    const key = `${path} ${status}`;
    tally.set(key, (tally.get(key) ?? 0) + 1);
  }
  for (const [key, count] of tally) {
    const [path = "", status = ""] = key.split(" ");
    const total = (scraped: string): number =>
      samples(scraped)
        .filter(
          ({ name, labels }) =>
            name === "http_requests_total" && labels["path"] === path && labels["status"] === status,
        )
        .reduce((sum, { value }) => sum + value, 0);
    expect(total(text) - total(before), key).toBe(count);
  }
  const tokens = seen.reduce((sum, one) => sum + (one.tokens ?? 0), 0);
  expect(valueOf(text, "svc_decode_tokens_total")).toBeGreaterThanOrEqual(tokens);
}

test(
  `${STREAMS} clients for ${MINUTES} min`,
  async () => {
    const temporary = newFolder();
    const tools = PYTHON ? ["--enable-code-execution"] : [];
    const flags = ["--max-seqs", "32", "--lora", `red=${RED}`, ...tools];
    const server = await startServer(flags, { env: { TMPDIR: temporary } });
    await server.says("Ready.");
    await expectServes(server);
    const folders = readdirSync(temporary).length;
    const before = await untilQuiet(server);
    const { seen, samples: taken, counts, failures } = await soak(server);
    console.log(
      `  ${seen.length} answers: ${[...counts].map(([name, count]) => `${name} ${count}`).join(", ")}`,
    );
    expect(failures).toEqual([]);
    expect(counts.size).toBe(kinds.length);
    const text = await untilQuiet(server);
    expectCounted(text, before, seen);
    expectNoLeak(taken);
    await until("the sessions' folders are gone", () => readdirSync(temporary).length <= folders);
    expect(await (await fetch(`${server.url}/v1/files`)).json()).toEqual([]);
    // Both wait until nobody uses what they take away: a lease that was not given back would keep them for ever.
    expect(await command(server, "/v1/models/unload", { model_id: "svc-tiny" })).toBe(200);
    await expectServes(server);
    expect(valueOf(await scrape(server), "svc_engine_restarts_total")).toBe(0);
    expect(server.stderr()).not.toMatch(/internal error|internal_error/);
  },
  (MINUTES + 3) * 60_000,
);
