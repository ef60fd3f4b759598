// Starts and stops a server for one measurement. All servers get the same model, threads, number of sequences and context;
// other settings are defaults, or those of the command of --peer.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { freePort } from "../test/helpers/free-port.ts";
import { CACHE, SVC, type Peer } from "./peer.ts";
import { killTree, spawnLogged, stopTree, treeCpuSeconds, treeMemory, type TreeMemory } from "./processes.ts";

/** The sides of a comparison that need no --peer. */
export const SIDES = ["svc", "llama-server"] as const;
/** One of SIDES or a name of --peer. */
export type Side = string;

/** Parameters of a server. */
export interface ServerOptions {
  /** GGUF file; undefined: the model inside the executable (svc only). */
  readonly modelPath: string | undefined;
  /** Compute threads. */
  readonly threads: number;
  /** Concurrent sequences. */
  readonly sequences: number;
  /** Context of all sequences together, tokens. */
  readonly cells: number;
  /** More flags of this side. */
  readonly flags?: readonly string[];
  /** Time until it answers at most; unset: READY_MS_MAX. */
  readonly readyMs?: number;
}

/** A server that answers chat requests. */
export interface RunningServer {
  readonly side: Side;
  readonly port: number;
  memory(): TreeMemory;
  /** CPU time so far. */
  cpuSeconds(): number;
  /** Ends it and its engines without warning. */
  kill(): Promise<void>;
  /** Stops it, with SIGKILL after 10 seconds. */
  stop(): Promise<void>;
}

// A 0.6B model loads in about a second; this is for slow disks and cold caches.
const READY_MS_MAX = 120_000;

/** Starts a server and waits until it answers a chat request. Throws with its last output if it does not. */
export async function startServer(side: Side, options: ServerOptions, peer: Peer): Promise<RunningServer> {
  const port = freePort();
  const command = commandOf(side, options, port, peer);
  const logPath = join(CACHE, "logs", `${side}.log`);
  const child = spawnLogged(command, logPath, { XDG_CACHE_HOME: join(CACHE, "xdg") });
  const stop = (): Promise<void> => stopTree(child);
  try {
    await untilAnswering(child, port, options.readyMs);
  } catch (error) {
    await stop();
    const output = readFileSync(logPath, "utf8").slice(-2000);
    throw new Error(`${side} does not answer: ${command.join(" ")}\n${output}`, { cause: error });
  }
  return {
    side,
    port,
    memory: () => treeMemory(child.pid),
    cpuSeconds: () => treeCpuSeconds(child.pid),
    kill: () => killTree(child),
    stop,
  };
}

/**
 * The command of a side. That of --peer is a shell command for an OpenAI-compatible server, in which {model}, {port}, {threads},
 * {streams} (sequences) and {context} (tokens of all sequences together) are replaced.
 */
function commandOf(side: Side, options: ServerOptions, port: number, peer: Peer): string[] {
  if (side === "svc") return svcCommand(options, port);
  if (side === "llama-server") return llamaServerCommand(options, port, peer);
  const template = peer.others.get(side);
  if (template === undefined) throw new Error(`--peer names no command for ${side}`);
  const { modelPath = "", threads, sequences, cells } = options;
  const values = { model: modelPath, port, threads, streams: sequences, context: cells };
  const command = Object.entries(values).reduce(
    (text, [name, value]) => text.replaceAll(`{${name}}`, String(value)),
    template,
  );
  return ["/bin/sh", "-c", `exec ${command}`];
}

function svcCommand(
  { modelPath, threads, sequences, cells, flags = [] }: ServerOptions,
  port: number,
): string[] {
  const model = modelPath === undefined ? [] : ["-m", modelPath];
  const size = [
    "--max-seqs",
    String(sequences),
    "--pa-context-len",
    String(cells),
    "--threads",
    String(threads),
  ];
  return [SVC, "serve", ...model, "--host", "127.0.0.1", "--port", String(port), ...size, ...flags];
}

function llamaServerCommand(
  { modelPath, threads, sequences, cells, flags = [] }: ServerOptions,
  port: number,
  peer: Peer,
): string[] {
  if (modelPath === undefined)
    throw new Error("llama-server has no built-in model; name another with --models");
  const size = ["-np", String(sequences), "-c", String(cells), "--kv-unified", "-t", String(threads)];
  const place = ["--host", "127.0.0.1", "--port", String(port)];
  return [peer.server, "-m", modelPath, ...place, ...size, "--jinja", "--no-ui", ...flags];
}

/** Waits until a server answers chat requests. */
export async function untilAnswering(child: Subprocess, port: number, readyMs = READY_MS_MAX): Promise<void> {
  const deadline = performance.now() + readyMs;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`it exited with code ${child.exitCode}`);
    if (await answers(port, deadline)) return;
    await Bun.sleep(20);
  }
  throw new Error(`no answer within ${Math.round(readyMs)} ms`);
}

/** Whether a chat request succeeds: /health may be fine while the model still loads. */
async function answers(port: number, deadline: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: "POST",
      signal: AbortSignal.timeout(Math.max(1, Math.ceil(deadline - performance.now()))),
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model: "default",
        messages: [{ role: "user", content: "ready?" }],
        max_tokens: 1,
      }),
    });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false; // not listening yet
  }
}
