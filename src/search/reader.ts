// Runs each job in a reader process of its own, killed after a timeout.

import { READ_MS, READERS_MAX } from "./limits.ts";
import { ownCommand } from "../core/own-command.ts";
import { READER_WORD, type ReaderTask, type ReaderTasks } from "../reader/protocol.ts";
import { SearchFailure } from "./failure.ts";
import { Semaphore } from "../core/semaphore.ts";

/** Runs a job. Throws SearchFailure, or the signal's reason. */
export type Read = <T extends ReaderTask>(
  task: T,
  given: ReaderTasks[T]["given"],
  signal: AbortSignal,
) => Promise<ReaderTasks[T]["reply"]>;

/** `timeoutMs` applies to one job. */
export function createReader(timeoutMs = READ_MS): Read {
  const slots = new Semaphore(READERS_MAX);
  return (task, given, signal) =>
    slots.run(async () => {
      const text = await readOnce(JSON.stringify({ task, ...given }), timeoutMs, signal);
      return JSON.parse(text) as ReaderTasks[typeof task]["reply"]; // from svc's own process
    }, signal);
}

async function readOnce(job: string, timeoutMs: number, signal: AbortSignal): Promise<string> {
  const child = Bun.spawn([...ownCommand(), READER_WORD], {
    stdio: [new Blob([job]), "pipe", "ignore", "pipe"], // the last one: core/parent-pipe.ts
    env: {}, // it parses untrusted pages, so it gets no environment
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
  const kill = (): void => child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  const output = new Response(child.stdout).text().catch(() => ""); // killed: detected by its exit below
  const [text] = await Promise.all([output, child.exited]);
  signal.removeEventListener("abort", kill);
  signal.throwIfAborted();
  if (child.signalCode !== null) throw new SearchFailure("the page is too complex to be read in time");
  if (child.exitCode !== 0) throw new SearchFailure("the page could not be parsed");
  return text;
}
