// What keys, limits, usage on file, metrics by key and traces cost: two servers of one executable with one model, one with all of it
// and one with none, in turns.
//
//   bun bench/team.ts [--model nano.gguf] [--rounds 12] [--streams 32] [--tokens 128]
//
// Without --model: the built-in one.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../test/helpers/free-port.ts";
import { treeCpuSeconds } from "./processes.ts";
import { median, pairRatio } from "./stats.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string" },
    rounds: { type: "string", default: "12" },
    streams: { type: "string", default: "32" },
    tokens: { type: "string", default: "128" },
    svc: { type: "string", default: "svc" },
  },
});
const [rounds, streams, tokens] = [values.rounds, values.streams, values.tokens].map(Number) as [
  number,
  number,
  number,
];
/** Answers of each stream in a round, one after another. */
const ANSWERS = 4;
const READY_MS_MAX = 60_000;

interface Server {
  readonly url: string;
  readonly key: string;
  readonly stop: () => void;
  /** Processor time of the server and its engine, seconds. */
  readonly cpuSecs: () => number;
}

const SVC = resolve(values.svc);
const folder = mkdtempSync(join(tmpdir(), "svc-bench-team-"));

async function start(flags: readonly string[], key: string): Promise<Server> {
  const port = freePort();
  const model = values.model === undefined ? [] : ["-m", values.model];
  const words = [
    SVC,
    "serve",
    ...model,
    "--host",
    "127.0.0.1",
    "--port",
    String(port),
    "--max-seqs",
    "32",
    ...flags,
  ];
  const child = Bun.spawn(words, {
    stdout: "ignore",
    stderr: "ignore",
    env: { ...process.env, XDG_CONFIG_HOME: folder },
  });
  const url = `http://127.0.0.1:${port}`;
  for (const deadline = performance.now() + READY_MS_MAX; performance.now() < deadline; await Bun.sleep(50))
    if (
      await fetch(`${url}/ready`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return { url, key, stop: () => child.kill(), cpuSecs: () => treeCpuSeconds(child.pid) };
  throw new Error("a server did not start");
}

/** Tokens of a round of streamed answers, by second and by second of processor time, which other programs disturb less. */
async function round({ url, key, cpuSecs }: Server): Promise<readonly [wall: number, cpu: number]> {
  const body = JSON.stringify({
    messages: [{ role: "user", content: "Count." }],
    max_tokens: tokens,
    min_tokens: tokens,
    stream: true,
  });
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
  const startMs = performance.now();
  const before = cpuSecs();
  await Promise.all(
    Array.from({ length: streams }, async () => {
      for (let answer = 0; answer < ANSWERS; answer++) {
        const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body });
        if (!response.ok) throw new Error(await response.text());
        await response.arrayBuffer();
      }
    }),
  );
  const made = streams * ANSWERS * tokens;
  return [made / ((performance.now() - startMs) / 1000), made / (cpuSecs() - before)];
}

const keysFile = join(folder, "team.json");
const limits = [
  "--rpm",
  "1000000",
  "--tpm",
  "900000000",
  "--streams",
  "64",
  "--budget-tokens-per-day",
  "900000000",
];
const made = Bun.spawnSync([SVC, "keys", "add", "bench", "--json", ...limits, "--keys-file", keysFile]);
const key = (JSON.parse(made.stdout.toString()) as { readonly key: string }).key;
const all = await start(
  ["--keys-file", keysFile, "--state", `sqlite:${join(folder, "s.db")}`, "--metrics-keys", "--traces"],
  key,
);
const none = await start([], "none");
const results: Readonly<Record<"all" | "none", (readonly [number, number])[]>> = { all: [], none: [] };
await round(all);
await round(none);
for (let at = 0; at < rounds; at++) {
  const order = at % 2 === 0 ? (["all", "none"] as const) : (["none", "all"] as const);
  for (const side of order) results[side].push(await round(side === "all" ? all : none));
}
all.stop();
none.stop();
rmSync(folder, { recursive: true, force: true });
for (const [name, at] of [["second", 0] as const, ["second of processor time", 1] as const]) {
  const [one, other] = [results.all.map((row) => row[at]), results.none.map((row) => row[at])];
  const { median: middle, min, max } = pairRatio(one, other);
  const spread = `${middle.toFixed(3)} (${min.toFixed(3)} to ${max.toFixed(3)})`;
  console.log(
    `tokens a ${name}: with all ${median(one).toFixed(0)}, with none ${median(other).toFixed(0)}, ratio ${spread}`,
  );
}
