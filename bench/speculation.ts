// What guessing next tokens brings where an answer copies from its prompt, and costs where it does not: two servers with the
// built-in model, one that guesses (`speculative = "ngram"`, or `mtp_model` where a file is named), asked in turn. Times of
// generation alone, as the servers tell them.
//
//   bun bench/speculation.ts [--pairs 5] [--model FILE] [--draft FILE]

import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { CACHE, SVC } from "./peer.ts";
import { killRunning, spawnLogged, stopTree } from "./processes.ts";
import { freePort } from "./servers.ts";
import { median, pairRatio } from "./stats.ts";

const READY_MS_MAX = 60_000;
const MODES = ["off", "guesses"] as const;
type Mode = (typeof MODES)[number];

const COPIED =
  "the quick brown fox jumps over the lazy dog while seven small birds sing in the old green tree near the river bank and nobody hears them";

/** What is asked; a story is as free as the built-in model gets. */
const TASKS = {
  "copies its prompt": {
    messages: [{ role: "user", content: `Repeat exactly: ${COPIED}` }],
    max_tokens: 200,
  },
  "does not, temperature 1": { prompt: "Once upon a time", max_tokens: 200, temperature: 1, seed: 7 },
} as const;

const { values } = parseArgs({
  options: { pairs: { type: "string", default: "5" }, model: { type: "string" }, draft: { type: "string" } },
});

const { draft } = values;
const GUESSING = draft === undefined ? ["--speculative", "ngram"] : ["--mtp-model", resolve(draft)];

interface Server {
  readonly port: number;
  stop(): Promise<void>;
}

async function start(mode: Mode): Promise<Server> {
  const port = freePort();
  const model = values.model === undefined ? [] : ["--model", resolve(values.model)];
  const command = [
    SVC,
    "serve",
    ...model,
    "--host",
    "127.0.0.1",
    "--port",
    String(port),
    ...(mode === "off" ? ["--speculative", "off"] : GUESSING),
  ];
  const child = spawnLogged(command, join(CACHE, "logs", "speculation.log"), {
    XDG_CACHE_HOME: join(CACHE, "xdg"),
  });
  const deadline = performance.now() + READY_MS_MAX;
  for (;;) {
    const answered = await ask(port, { prompt: "ready?", max_tokens: 1 }).catch(() => undefined);
    if (answered !== undefined) return { port, stop: () => stopTree(child) };
    if (performance.now() > deadline || child.exitCode !== null)
      throw new Error("svc does not answer; see its log");
    await Bun.sleep(20);
  }
}

/** Tokens a second of one answer. */
async function ask(port: number, task: object): Promise<number> {
  const path = "messages" in task ? "chat/completions" : "completions";
  const response = await fetch(`http://127.0.0.1:${port}/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ temperature: 0, enable_thinking: false, ...task }),
  });
  if (!response.ok) throw new Error(await response.text());
  const { usage } = (await response.json()) as {
    usage: { completion_tokens: number; total_completion_time_sec: number };
  };
  return usage.completion_tokens / usage.total_completion_time_sec;
}

async function main(): Promise<void> {
  const [off, guesses] = [await start("off"), await start("guesses")];
  console.log("| the answer | off tok/s | with guesses tok/s | ratio of pairs |\n|---|--:|--:|--:|");
  for (const [name, task] of Object.entries(TASKS)) {
    const speeds: Record<Mode, number[]> = { off: [], guesses: [] };
    for (let pair = 0; pair < 1 + Number(values.pairs); pair++) {
      for (const mode of MODES) {
        const speed = await ask((mode === "off" ? off : guesses).port, task);
        if (pair > 0) speeds[mode].push(speed); // the first one warms up
      }
    }
    const { median: middle, min, max } = pairRatio(speeds.guesses, speeds.off);
    const ratio = [middle, min, max].map((value) => value.toFixed(2));
    const speed = MODES.map((mode) => median(speeds[mode]).toFixed(0));
    console.log(`| ${[name, ...speed, `${ratio[0]} (${ratio[1]}..${ratio[2]})`].join(" | ")} |`);
  }
  await Promise.all([off.stop(), guesses.stop()]);
}

try {
  await main();
} finally {
  killRunning();
}
