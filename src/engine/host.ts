// Spawns and ends an engine process. The only file that knows that an engine is a child process.

import { ENGINE_STOP_MS } from "./limits.ts";
import { ownCommand } from "../core/own-command.ts";
import { lacksRoomToPack } from "./packed-growth.ts";
import type { EngineOptions, FromEngine, ToEngine } from "./protocol.ts";

/** The process's environment, which an engine inherits. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A running engine process. */
export interface EngineLink {
  readonly pid: number;
  send(message: ToEngine): void;
  /** Sends `stop`, kills it after a timeout; resolves when it has ended. */
  stop(): Promise<void>;
  /** Kills it. */
  kill(): void;
}

/** Events of the link. `onExit` is called exactly once, last. */
export interface LinkHandlers {
  readonly onMessage: (message: FromEngine) => void;
  readonly onExit: (description: string) => void;
}

/** Starts an engine process; a fake one in tests. */
export type OpenLink = (handlers: LinkHandlers) => EngineLink;

/** Defaults of an engine's environment; the user's values win. */
export const ENGINE_ENVIRONMENT = {
  /**
   * How long a compute thread spins at a barrier before it sleeps, in libgomp's units: about 1 ms. The default, ten times as
   * long, takes processor time from other processes on a busy machine; sleeping at once would cost 50 µs a barrier.
   */
  GOMP_SPINCOUNT: "30000",
  /** No FTL compilation: an engine runs little JavaScript, and the compiler's threads delay compute threads. */
  BUN_JSC_useFTLJIT: "0",
  /** Otherwise ggml starts a debugger, if installed, at a failed assertion. */
  GGML_NO_BACKTRACE: "1",
};

/** SVC_KERNELS, all but one (ffi/kernels/svc_kernels.h). */
const WITHOUT_GROWTH = "-packed-grids";

/** An engine's environment: its native libraries select kernels by it when they are loaded. The user's selection wins. */
export function engineEnvironment(
  options: EngineOptions,
  environment: Environment,
  freeBytes: number,
): Environment {
  if (options.kind !== "text") return environment;
  const isChosen = (environment["SVC_KERNELS"] ?? "") !== "";
  return {
    ...environment,
    ...(options.batchInvariant === true ? { SVC_BATCH_INVARIANT: "1" } : {}),
    ...(!isChosen && lacksRoomToPack(options, freeBytes) ? { SVC_KERNELS: WITHOUT_GROWTH } : {}),
  };
}

/** Spawns `svc engine`, linked by Bun's IPC: one JSON message costs about 5 µs, measured. */
export function spawnEngine({ onMessage, onExit }: LinkHandlers, environment: Environment): EngineLink {
  const child = Bun.spawn([...ownCommand(), "engine"], {
    stdio: ["ignore", "inherit", "inherit", "pipe"], // the last one: core/parent-pipe.ts
    serialization: "json",
    env: { ...ENGINE_ENVIRONMENT, ...environment },
    ipc: (message) => onMessage(message as FromEngine), // plain data of our own process; the type is protocol.ts's
    onExit: (_, code, signal) => onExit(signal === null ? `exit code ${code}` : `signal ${signal}`),
  });
  return {
    pid: child.pid,
    send: (message) => {
      try {
        child.send(message);
      } catch {
        // The process has just ended; onExit follows.
      }
    },
    stop: async () => {
      const killer = setTimeout(() => child.kill("SIGKILL"), ENGINE_STOP_MS);
      try {
        child.send({ type: "stop" } satisfies ToEngine);
      } catch {
        // already gone
      }
      await child.exited;
      clearTimeout(killer);
    },
    kill: () => child.kill("SIGKILL"),
  };
}
