// Programs of other projects that run models behind svc: where they are, and their start for a test file. They are not
// installed by anything here.

import { describe } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { newFolder } from "../helpers/binary.ts";
import { freePort } from "../helpers/free-port.ts";
import { childrenOf, isAlive } from "../helpers/processes.ts";
import { until } from "../helpers/until.ts";

/** Longest time from the start of a program to its first answer, and of all that a test file starts, milliseconds. */
const START_MS = 300_000;
export const SETUP_MS = 4 * START_MS;

/** A program: the environment name that says where it is, its name on the path, and how to get it. */
export interface Program {
  readonly variable: string;
  readonly name: string;
  readonly source: string;
}

export const LLAMA_SERVER: Program = {
  variable: "SVC_LLAMA_SERVER",
  name: "llama-server",
  source: "build it with: bun bench/peer.ts",
};
export const INFERENCE_SIM: Program = {
  variable: "SVC_INFERENCE_SIM",
  name: "llm-d-inference-sim",
  source: "it is a project of llm-d",
};
export const LITELLM: Program = {
  variable: "SVC_LITELLM",
  name: "litellm",
  source: "install it with: pip install 'litellm[proxy]'",
};

/** Path of a program; undefined if it is not here. */
function pathOf({ variable, name }: Program): string | undefined {
  const stated = process.env[variable];
  if (stated !== undefined) return resolve(stated);
  return (name === LLAMA_SERVER.name ? builtLlamaServer() : undefined) ?? Bun.which(name) ?? undefined;
}

/** What `bun bench/peer.ts` has built. */
function builtLlamaServer(): string | undefined {
  const cache = resolve(import.meta.dir, "../../bench/.cache");
  if (!existsSync(cache)) return undefined;
  return readdirSync(cache)
    .map((folder) => join(cache, folder, "build/bin/llama-server"))
    .find((path) => existsSync(path));
}

/** `describe` for tests of these programs, or a skip that says which one is absent. */
export function describeWithPrograms(...programs: readonly Program[]): typeof describe {
  if (process.env["SVC_SLOW_TESTS"] !== "1") {
    console.warn(
      `SKIPPED: tests with ${programs.map(({ name }) => name).join(", ")}; see npm run test:upstreams`,
    );
    return describe.skip;
  }
  const absent = programs.filter((program) => pathOf(program) === undefined);
  for (const { name, variable, source } of absent)
    console.warn(`SKIPPED: tests with ${name}, which is not here (${variable}); ${source}`);
  return absent.length === 0 ? describe : describe.skip;
}

const stops: (() => unknown)[] = [];

/** Stops what a test file has started, the last one first: for its afterAll. */
export async function stopAll(): Promise<void> {
  for (const stop of stops.splice(0).toReversed()) await stop();
}

/** Has `stop` called by stopAll. */
export function stopLater(stop: () => unknown): void {
  stops.push(stop);
}

/** A running program. */
export interface Running {
  /** Without a slash at its end. */
  readonly url: string;
  readonly port: number;
  kill(): void;
  /** Starts it again on the same port after a kill. */
  restart(): Promise<void>;
}

export interface StartOptions {
  readonly program: Program;
  readonly args: (port: number) => readonly string[];
  /** Path that answers with 200 when it is ready. */
  readonly ready: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a program on a free port. stopAll ends it. */
export async function startProgram(options: StartOptions): Promise<Running> {
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  let child = spawn(options, port);
  stopLater(() => endTree(child.pid));
  const isReady = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`${options.program.name} ended with ${child.exitCode}`);
    return fetch(url + options.ready).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  await until(`${options.program.name} answers`, isReady, START_MS);
  return {
    url,
    port,
    kill: () => endTree(child.pid),
    restart: async () => {
      await child.exited;
      child = spawn(options, port);
      await until(`${options.program.name} answers again`, isReady, START_MS);
    },
  };
}

/** The sum of a metric over all of its labels. */
export async function metricOf(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"))];
  if (values.length === 0) throw new Error(`${url} has no metric ${name}`);
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}

function spawn({ program, args, env }: StartOptions, port: number) {
  const cwd = newFolder();
  const log = Bun.file(join(cwd, "log"));
  return Bun.spawn([pathOf(program) ?? program.name, ...args(port)], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: cwd, ...env },
    stdin: "ignore",
    stdout: log,
    stderr: log,
  });
}

function endTree(pid: number): void {
  for (const one of [pid, ...childrenOf(pid)]) if (isAlive(one)) process.kill(one, "SIGKILL");
}
