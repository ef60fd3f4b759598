// A process in the sandbox, from its start to the end of everything it has started.

import { spawn } from "node:child_process";
import { closeSync, writeFileSync } from "node:fs";
import { Readable } from "node:stream";
import { assert } from "../core/assert.ts";
import { SANDBOX_KILL_MS } from "../core/limits.ts";
import type { Assignment, Confinement } from "./confinement.ts";
import { processes } from "./processes.ts";
import type { BrokenLimit, ConfinedProcess, Ending } from "./types.ts";
import type { Watch } from "./watch.ts";

/** What to start and how. */
export interface Start {
  readonly confinement: Confinement;
  readonly job: Assignment;
  readonly env: Readonly<Record<string, string>>;
  /** Holds the processes to their caps. */
  readonly watch?: Watch;
}

/** Starts a job. Throws when it must not be, or there is no room for another process. */
export function startConfined({ confinement, job, env, watch }: Start): ConfinedProcess {
  watch?.admit(job.workdir);
  const { words, filter } = confinement.command(job);
  const [program = "", ...args] = words;
  const pipe = job.conversation === true ? "pipe" : "ignore";
  const child = spawn(program, args, {
    // Started elsewhere: a program that looks for its settings where it stands would find what a model has put there.
    cwd: "/",
    env,
    stdio: [pipe, "pipe", "pipe", pipe, ...(filter === undefined ? [] : [filter])],
    detached: true, // the first of a session of its own
  });
  if (filter !== undefined) closeSync(filter);
  const { pid, stdout, stderr } = child;
  assert(stdout !== null && stderr !== null, "both are pipes");
  const members = () => (pid === undefined ? [] : confinement.members(pid, job)(processes()));
  let limit: BrokenLimit | undefined;
  let killer: ReturnType<typeof setInterval> | undefined;
  let isOver = false; // from then on the process's id may be somebody else's

  const killAll = (): void => {
    const all = members();
    const inner = all.filter((info) => info.pid !== pid);
    // The first process of bubblewrap ends by itself once the rest is gone, and only then is it certain to be.
    const isLast = confinement.mechanism !== "bubblewrap" || inner.length === 0;
    for (const info of isLast ? all : inner) signal(info.pid, "SIGKILL");
  };
  const kill = (): void => {
    if (isOver || killer !== undefined) return;
    killAll();
    killer = setInterval(killAll, SANDBOX_KILL_MS); // whoever was being made at that moment
  };
  const unwatch =
    pid === undefined
      ? undefined
      : watch?.add({
          members: confinement.members(pid, job),
          workdir: job.workdir,
          onBreach: (broken) => {
            limit = broken;
            kill();
          },
        });
  if (pid !== undefined) preferForKilling(pid);

  const ended = (async (): Promise<Ending> => {
    const ending = await exitOf(child);
    isOver = true;
    clearInterval(killer);
    for (let left = members(); left.length > 0; left = members()) {
      for (const info of left) signal(info.pid, "SIGKILL");
      await Bun.sleep(SANDBOX_KILL_MS);
    }
    await unwatch?.();
    return limit === undefined ? ending : { ...ending, limit };
  })();
  child.stdin?.on("error", () => {}); // nobody reads any more: `ended` tells
  const replies = child.stdio[3];
  return {
    stdout,
    stderr,
    replies: replies instanceof Readable ? replies : undefined,
    write: (text) => void child.stdin?.write(text),
    interrupt: () => {
      const target = pid === undefined || isOver ? undefined : confinement.program(pid, members());
      if (target !== undefined) signal(target, "SIGINT");
    },
    kill,
    ended,
  };
}

function exitOf(child: ReturnType<typeof spawn>): Promise<Ending> {
  return new Promise((resolve) => {
    child.once("error", () => resolve({ code: 127 }));
    child.once("exit", (code, name) => resolve(code === null ? { signal: name ?? "SIGKILL" } : { code }));
  });
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it has ended meanwhile
  }
}

/** When the machine runs out of memory, tools go before the server does. */
function preferForKilling(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, "800");
  } catch {
    // no such file on this system, or the process is gone
  }
}
