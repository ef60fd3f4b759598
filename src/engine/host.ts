// Starts and ends an engine process. The only file that knows that an engine is a child process.

import { ENGINE_STOP_MS } from "./limits.ts";
import { ownCommand } from "../core/own-command.ts";
import type { FromEngine, ToEngine } from "./protocol.ts";

/** The process's environment, which an engine inherits. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A running engine process. */
export interface EngineLink {
  readonly pid: number;
  send(message: ToEngine): void;
  /** Asks it to end, kills it after a while; resolves when it is gone. */
  stop(): Promise<void>;
  /** Ends it at once. */
  kill(): void;
}

/** What happens on the link. `onExit` comes exactly once, last, whatever the reason. */
export interface LinkHandlers {
  readonly onMessage: (message: FromEngine) => void;
  readonly onExit: (description: string) => void;
}

/** Starts an engine process; a fake one in tests. */
export type OpenLink = (handlers: LinkHandlers) => EngineLink;

/** What an engine's environment says unless the user's does. */
const ENGINE_ENVIRONMENT = {
  /**
   * How long a compute thread spins at a barrier before it sleeps, in libgomp's units: about a millisecond. The default is
   * ten times as long, which a neighbour on a busy machine pays for; sleeping at once would cost 50 µs a barrier.
   */
  GOMP_SPINCOUNT: "30000",
  /** No last stage of JIT compilation: an engine's JavaScript is little, and compute threads wait while theirs compile it. */
  BUN_JSC_useFTLJIT: "0",
  /** ggml would start a debugger, where there is one, before it ends the process at a failed assertion. */
  GGML_NO_BACKTRACE: "1",
};

/** Starts `svc engine` as a child process, linked by Bun's IPC: one JSON message costs about 5 µs, measured. */
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
        // The process has just ended: onExit tells everybody concerned.
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
