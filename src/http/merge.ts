// Several runs of one request: started together, ended together, and for a stream merged into one. Choices are
// numbered through: those of the second run follow those of the first. Knows no dialect.

import { assert } from "../core/assert.ts";
import { EventQueue } from "../core/queue.ts";
import type { Generate, RunEvent, RunRequest } from "../core/run.ts";
import { mergeCosts, type RunCost } from "../dialects/shared/usage.ts";
import { type Client, endWith, foldRun, type StartedRun, startRun } from "./run.ts";

/** Runs that the engine has accepted, all of them. */
export interface StartedRuns {
  /** In the order of the requests. */
  readonly runs: readonly StartedRun[];
  /** Ends all of them. */
  readonly abort: AbortController;
}

/** Starts all runs. Throws the ServiceError of the first that is refused, having ended the others. */
export async function startRuns(
  generate: Generate,
  requests: readonly RunRequest[],
  { caller, signal }: Client,
): Promise<StartedRuns> {
  const abort = endWith(new AbortController(), signal);
  const starting = requests.map((request) => startRun(generate, request, { caller, signal: abort.signal }));
  try {
    return { runs: await Promise.all(starting), abort };
  } catch (refused) {
    abort.abort();
    await endAll(starting);
    throw refused;
  }
}

/** Lets go of the runs that were accepted before another was refused. */
async function endAll(starting: readonly Promise<StartedRun>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(starting)) {
    if (outcome.status === "fulfilled") await outcome.value.events.return(undefined);
  }
}

/** One run that has the choices of all, `choices` of each. It fails when one of them fails. */
export function mergeRuns(started: StartedRuns, choices: number): StartedRun {
  const [only] = started.runs;
  assert(only !== undefined, "there is a run to merge");
  const { accepted } = only;
  const events = started.runs.length === 1 ? only.events : merged(started, choices);
  return { accepted, events, abort: started.abort };
}

/** Feeds each run to its fold. Throws the first error of any of them, having ended the others. */
export async function foldRuns(
  { runs, abort }: StartedRuns,
  folds: readonly { add(event: RunEvent): void }[],
): Promise<void> {
  assert(runs.length === folds.length, "every run has its fold");
  try {
    await Promise.all(folds.map(async (fold, index) => runs[index] && foldRun(runs[index], fold)));
  } catch (thrown) {
    abort.abort();
    throw thrown;
  }
}

/** An event of one run, or what ended the reading of it. */
type Item = { readonly event: RunEvent; readonly run: number } | { readonly thrown: unknown };

async function* merged({ runs, abort }: StartedRuns, choices: number): AsyncGenerator<RunEvent> {
  const queue = new EventQueue<Item>();
  const costs: RunCost[] = [];
  let pumps: Promise<unknown> | undefined;
  try {
    yield await acceptance(runs);
    pumps = Promise.all(runs.map((run, index) => pump(run, index, queue))).then(() => queue.close());
    for await (const item of queue) {
      if ("thrown" in item) throw item.thrown;
      const { event, run } = item;
      if (event.type === "finish") costs.push(event);
      else yield renumbered(event, run * choices);
      if (event.type === "error") return;
    }
    if (costs.length === runs.length) yield { type: "finish", ...mergeCosts(costs) };
  } finally {
    abort.abort(); // ends what still runs; without effect after the end
    await pumps;
    await Promise.all(runs.map(({ events }) => events.return(undefined)));
  }
}

/** All runs are accepted, so the first event of each is there. */
async function acceptance(runs: readonly StartedRun[]): Promise<RunEvent> {
  let promptTokens = 0;
  for (const { events } of runs) {
    const first = await events.next();
    assert(first.done !== true && first.value.type === "accepted", "a started run begins with accepted");
    promptTokens += first.value.promptTokens;
  }
  return { type: "accepted", promptTokens };
}

/** Moves the events of one run into the queue. Never rejects. */
async function pump({ events, abort }: StartedRun, run: number, queue: EventQueue<Item>): Promise<void> {
  let last: RunEvent["type"] | undefined;
  try {
    for await (const event of events) {
      queue.push({ event, run });
      last = event.type;
    }
    const ended = last === "finish" || last === "error" || abort.signal.aborted;
    assert(ended, "a run stopped without its terminal event");
  } catch (thrown) {
    queue.push({ thrown });
  }
}

function renumbered(event: RunEvent, firstChoice: number): RunEvent {
  return "choice" in event ? { ...event, choice: firstChoice + event.choice } : event;
}
