// The compiled executable, run as a user would: in an empty folder, with no environment but its own.

import { afterAll, beforeAll, onTestFinished } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { atEnd } from "./at-end.ts";
import { childrenOf, descendantsOf, isAlive, wordsOf } from "./processes.ts";
import { patient, until, within } from "./until.ts";

/** The built-in model, as a file that can be served like any other. */
export const TINY_FILE = resolve(import.meta.dir, "../../demo-model/tiny.gguf");

/** Longest time from the start of a process to its banner, and from a stop to its end, milliseconds. */
const START_MS = 30_000;
const STOP_MS = 20_000;

/** Path of the executable under test. Throws when there is none. */
function binaryPath(): string {
  const path = resolve(process.env["SVC_BINARY"] ?? join(import.meta.dir, "../../svc"));
  if (existsSync(path)) return path;
  throw new Error(`there is no executable ${path}: make it with "npm run build", or name one in SVC_BINARY`);
}

/** A folder that is gone when all tests are done. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-e2e-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

let sharedCache: string | undefined;

/** The cache that all tests share unless they bring one: unpacked once a process. */
function cacheFolder(): string {
  return (sharedCache ??= newFolder());
}

export interface RunOptions {
  /** Working directory; an empty one unless given. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Time that runBinary gives it, milliseconds, times SVC_TEST_PATIENCE; 30 s if absent. */
  readonly limitMs?: number;
  /** Value of XDG_CACHE_HOME. */
  readonly cache?: string;
  /** Makes the process the leader of a group and session of its own. */
  readonly detached?: boolean;
  /** Shell commands that are run in the process before it becomes the executable: limits. */
  readonly before?: string;
}

interface SpawnOptions extends RunOptions {
  /** What to start instead of the executable, in the same surroundings. */
  readonly command?: readonly string[];
  readonly stdin?: "ignore" | "pipe" | Uint8Array;
}

/** Starts the executable. The caller must see to its end. */
export function spawnBinary(args: readonly string[], options: SpawnOptions = {}) {
  const cwd = options.cwd ?? newFolder();
  return Bun.spawn([...(options.command ?? programOf(options)), ...args], {
    cwd,
    env: {
      PATH: process.env["PATH"] ?? "/usr/bin:/bin",
      HOME: cwd,
      XDG_CACHE_HOME: options.cache ?? cacheFolder(),
      // A decode step of the built-in model is too small to be shared out: with two threads it waits a hundred times
      // for the other one, which on a busy machine is each time a turn of the system's scheduler.
      SVC_THREADS: "1",
      SVC_DRAIN_TIMEOUT: "10", // less than STOP_MS
      SVC_SEED: "1", // at the default temperature one answer in 200 is another one
      ...options.env,
    },
    stdin: options.stdin ?? "ignore",
    stdout: "pipe",
    stderr: "pipe",
    detached: options.detached ?? false,
  });
}

function programOf({ before }: RunOptions): readonly string[] {
  return before === undefined ? [binaryPath()] : ["sh", "-c", `${before}; exec "$0" "$@"`, binaryPath()];
}

export interface Ended {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the executable to its end, which must come within `limitMs`. */
export function runBinary(
  args: readonly string[],
  options: RunOptions & { readonly stdin?: string } = {},
): Promise<Ended> {
  const { stdin, ...rest } = options;
  const child = spawnBinary(args, { ...rest, ...(stdin === undefined ? {} : { stdin: Buffer.from(stdin) }) });
  return ended(child, options.limitMs);
}

/** The same with a line for the shell, in which "$0" is the executable. */
export function runShell(line: string, options: RunOptions = {}): Promise<Ended> {
  return ended(spawnBinary([], { ...options, command: ["sh", "-c", line, binaryPath()] }));
}

async function ended(child: ReturnType<typeof spawnBinary>, limitMs = START_MS): Promise<Ended> {
  const killer = setTimeout(() => child.kill("SIGKILL"), patient(limitMs));
  try {
    const [out, err, exit] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { exit, out, err };
  } finally {
    clearTimeout(killer);
  }
}

/** The executable on a terminal of its own. */
export interface Terminal {
  /** Types, as keys: "\r" is Enter, "\x03" Ctrl-C. */
  type(keys: string): void;
  /** Waits until what was written since the last call matches, and returns it. */
  shows(pattern: RegExp): Promise<string>;
  enginePid(): number;
  /** Closes, as when a connection breaks off. */
  close(): void;
  /** Ends with the process: its exit code. */
  readonly exited: Promise<number>;
}

/** Whether openTerminal works here: it needs script(1), which makes the terminal. */
export const HAS_TERMINAL = Bun.which("script") !== null;

/** Runs the executable on a terminal for one test. `words` are its arguments as a shell reads them, `variables` come before. */
export function openTerminal(words: string, cwd: string, variables = ""): Terminal {
  const line = `${variables} "${binaryPath()}" ${words}`;
  const command = ["script", "--quiet", "--return", "--command", line, "/dev/null"];
  const env = { TERM: "xterm", SHELL: "/bin/sh" };
  const child = spawnBinary([], { command, cwd, env, stdin: "pipe" });
  let shown = "";
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) shown += decoder.decode(chunk, { stream: true });
  })();
  onTestFinished(() => {
    for (const pid of [child.pid, ...descendantsOf(child.pid)])
      if (isAlive(pid)) process.kill(pid, "SIGKILL");
  });
  return {
    type: (keys) => {
      const { stdin } = child;
      if (typeof stdin !== "object") throw new Error("the terminal has no keyboard");
      void stdin.write(keys);
      void stdin.flush();
    },
    shows: async (pattern) => {
      await until(`the terminal shows ${pattern}`, () => pattern.test(shown)).catch((error: unknown) => {
        throw new Error(`the terminal shows:\n${shown}`, { cause: error });
      });
      const seen = shown;
      shown = "";
      return seen;
    },
    enginePid: () => {
      const pid = descendantsOf(child.pid).find((candidate) => wordsOf(candidate).at(-1) === "engine");
      if (pid === undefined) throw new Error("there is no engine");
      return pid;
    },
    close: () => child.kill("SIGKILL"),
    exited: child.exited,
  };
}

/** A running `svc serve`. */
export interface Server {
  /** Without a slash at its end. */
  readonly url: string;
  /** The server that has the engines: another one only with SVC_TWO_HOPS=1. */
  readonly engineUrl: string;
  readonly pid: number;
  /** Ends with the process: its exit code, 128 + n after signal n. */
  readonly exited: Promise<number>;
  /** Engine processes that run now. */
  enginePids(): readonly number[];
  /** The one engine process of a server with one model. */
  enginePid(): number;
  /** Halts the one engine process where it is, so that its streams are as slow as a test wants; returns how to go on. */
  pauseEngine(): () => void;
  /** Everything the server and its engines have written to stderr. */
  stderr(): string;
  /** Waits until stderr holds `text`. */
  says(text: string): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** Asks it to end, insists after a while, and returns the exit code. */
  stop(): Promise<number>;
}

/** Flags with a value that concern the engine: behind another svc, the server that has the engine gets them. */
const ENGINE_FLAGS: ReadonlySet<string> = new Set([
  "-m",
  "--mmproj",
  "--max-seqs",
  "--queue-max",
  "--mtp-model",
  "--mtp-n-predict",
  "--content-tokens",
  "--thinking-default",
  "--cache-disk",
  "--cache-ram",
  "--determinism",
  "--prefill-share",
  "--speculative",
  "--threads",
  "--chat-template",
]);

/**
 * Starts `svc serve` and waits until /health answers. The caller must stop it. With SVC_TWO_HOPS=1 it is a svc in front of
 * another one that has the models, unless a file configures them.
 */
export async function launchServer(args: readonly string[] = [], options: RunOptions = {}): Promise<Server> {
  const isTwo = process.env["SVC_TWO_HOPS"] === "1" && args[0]?.endsWith(".toml") !== true;
  return isTwo ? launchTwo(args, options) : launchOne(args, options);
}

/** A svc in front of another one. Its process is the front's, its engines are the other's. */
async function launchTwo(args: readonly string[], options: RunOptions): Promise<Server> {
  const isOfEngine = (at: number): boolean =>
    ENGINE_FLAGS.has(args[at] ?? "") || (at > 0 && ENGINE_FLAGS.has(args[at - 1] ?? ""));
  const back = await launchOne(
    args.filter((_, at) => isOfEngine(at)),
    options,
  );
  try {
    // Its model list states the context once the model is loaded.
    await until("/ready answers", async () => (await fetch(`${back.url}/ready`)).ok, START_MS);
    const list = (await (await fetch(`${back.url}/v1/models`)).json()) as {
      readonly data: readonly { readonly id: string; readonly kind: string }[];
    };
    const entries = list.data
      .filter(({ id }) => id !== "svc-voice")
      .map(
        ({ id, kind }) =>
          `[[models]]\nmodel_id = "${id}"\nkind = "upstream"\nserves = "${kind}"\n[[models.upstreams]]\nurl = "${back.url}/v1"\n`,
      );
    const file = join(newFolder(), "front.toml");
    await Bun.write(file, entries.join("\n"));
    const front = await launchOne([file, ...args.filter((_, at) => !isOfEngine(at))], options);
    return {
      ...back,
      url: front.url,
      pid: front.pid,
      exited: front.exited,
      stderr: () => front.stderr() + back.stderr(),
      says: (text) => front.says(text),
      kill: (signal) => front.kill(signal),
      stop: async () => {
        const code = await front.stop();
        await back.stop();
        return code;
      },
    };
  } catch (error) {
    await back.stop();
    throw error;
  }
}

async function launchOne(args: readonly string[], options: RunOptions): Promise<Server> {
  const child = spawnBinary(["serve", "--host", "127.0.0.1", "--port", "0", ...args], options);
  let heard = "";
  const listening = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) heard += decoder.decode(chunk, { stream: true });
  })();
  const engines = () => childrenOf(child.pid).filter((pid) => wordsOf(pid).at(-1) === "engine");
  const enginePid = () => {
    const [pid, ...others] = engines();
    if (pid === undefined || others.length > 0)
      throw new Error(`one engine was expected, there are ${engines().length}`);
    return pid;
  };
  const server = (url: string): Server => ({
    url,
    engineUrl: url,
    pid: child.pid,
    exited: child.exited,
    enginePids: engines,
    enginePid,
    pauseEngine: () => {
      const pid = enginePid();
      process.kill(pid, "SIGSTOP");
      return () => {
        if (isAlive(pid)) process.kill(pid, "SIGCONT"); // its server may have ended it meanwhile
      };
    },
    stderr: () => heard,
    says: async (text) => {
      await until(`stderr says "${text}"`, () => heard.includes(text)).catch((error: unknown) => {
        throw new Error(`stderr is:\n${heard}`, { cause: error });
      });
    },
    kill: (signal) => child.kill(signal),
    stop: () => stopServer(child, engines()),
  });
  try {
    const url = await until(
      `svc serve tells its address`,
      () => {
        if (child.exitCode !== null) throw new Error(`svc serve ended with ${child.exitCode}`);
        return /listening on (http:\/\/\S+)/.exec(heard)?.[1];
      },
      START_MS,
    );
    await until("/health answers", async () => (await fetch(`${url}/health`)).ok, START_MS);
    return server(url);
  } catch (error) {
    child.kill("SIGKILL");
    await listening;
    throw new Error(`the server did not start; stderr:\n${heard}`, { cause: error });
  }
}

/** Ends a server and whatever it leaves behind. */
async function stopServer(
  child: ReturnType<typeof spawnBinary>,
  engines: readonly number[],
): Promise<number> {
  for (const pid of engines) if (isAlive(pid)) process.kill(pid, "SIGCONT"); // a test may have paused it
  child.kill("SIGTERM");
  try {
    return await within(STOP_MS, "the server stops", child.exited);
  } catch {
    child.kill("SIGKILL");
    return await child.exited;
  } finally {
    for (const pid of engines) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  }
}

/** A server for one test; it ends with the test. */
export async function startServer(args: readonly string[] = [], options: RunOptions = {}): Promise<Server> {
  const server = await launchServer(args, options);
  onTestFinished(async () => void (await server.stop()));
  return server;
}

/** One server for all tests of a file. The result gives it inside a test. */
export function fileServer(args: readonly string[] = [], options: RunOptions = {}): () => Server {
  let server: Server | undefined;
  beforeAll(async () => {
    server = await launchServer(args, options);
  });
  afterAll(async () => void (await server?.stop()));
  return () => {
    if (server === undefined) throw new Error("the server is there once tests run");
    return server;
  };
}
