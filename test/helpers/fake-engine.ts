// Engine processes that are none: they do what a test says, when it says so.

import type { EngineHost } from "../../src/core/system.ts";
import type { EngineLink, LinkHandlers, OpenLink } from "../../src/engine/host.ts";
import type { TextInfo, RunId, ToEngine } from "../../src/engine/protocol.ts";
import { answer } from "./run-events.ts";

const INFO: TextInfo = {
  kind: "text",
  modelPath: "/fake.gguf",
  generates: true,
  embeds: true,
  ranks: false,
  fillsGaps: false,
  thinks: false,
  modalities: [],
  description: "fake",
  architecture: "fake",
  sizeBytes: 1,
  vocabulary: 1,
  trainedContext: 1,
  hasHead: false,
  contextTokens: 1,
  cells: 1,
  maxSeqs: 1,
  threads: 1,
};

const HOST: EngineHost = {
  llama_version: "fake",
  cpu_variant: null,
  cpu_features: [],
  kernels: [],
  devices: [],
  landlock_abi: null,
  backend_failures: [],
};

/** One process. */
export interface FakeProcess {
  /** Runs that have arrived and are not answered. */
  readonly runs: RunId[];
  /** Says that it tries the chat template out. */
  tryTemplate(): void;
  /** Says that the model is loaded. */
  becomeReady(): void;
  /** Says that the model cannot be loaded. */
  failToLoad(message: string): void;
  /** Answers a run. */
  finish(id: RunId): void;
  readonly hasEnded: boolean;
  /** Ends unasked. */
  die(signal: string): void;
  /** While true, it does not answer pings. */
  isDeaf: boolean;
}

export interface FakeEngines {
  readonly openLink: OpenLink;
  /** All that were started, the last one last. */
  readonly started: FakeProcess[];
  /** Those that have not ended. */
  alive(): number;
}

/** `isPrompt`: each is ready, and answers, at once. */
export function fakeEngines(isPrompt = false): FakeEngines {
  const started: FakeProcess[] = [];
  const openLink = ({ onMessage, onExit }: LinkHandlers): EngineLink => {
    const runs: RunId[] = [];
    let hasEnded = false;
    let isDeaf = false;
    const finish = (id: RunId): void => {
      runs.splice(runs.indexOf(id), 1);
      const events = answer("Hi");
      onMessage({ type: "events", runs: events.map(() => id), events });
    };
    const take = (message: ToEngine): void => {
      if (message.type === "start" && isPrompt) onMessage({ type: "ready", info: INFO, host: HOST });
      if (message.type === "ping" && !isDeaf) onMessage({ type: "pong" });
      if (message.type === "run") {
        runs.push(message.id);
        if (isPrompt) finish(message.id);
      }
      if (message.type === "abort") runs.splice(runs.indexOf(message.id), 1);
    };
    const end = (description: string): void => {
      if (hasEnded) return;
      hasEnded = true;
      onExit(description);
    };
    started.push({
      die: (signal) => end(`signal ${signal}`),
      runs,
      finish,
      tryTemplate: () => onMessage({ type: "trying_template" }),
      becomeReady: () => onMessage({ type: "ready", info: INFO, host: HOST }),
      failToLoad: (message) => onMessage({ type: "failed", error: { code: "model_unavailable", message } }),
      get hasEnded() {
        return hasEnded;
      },
      get isDeaf() {
        return isDeaf;
      },
      set isDeaf(value) {
        isDeaf = value;
      },
    });
    return {
      pid: 2 ** 30 + started.length, // no process has it
      send: (message) => queueMicrotask(() => take(message)),
      stop: async () => {
        await Promise.resolve();
        end("exit code 0");
      },
      kill: () => end("signal SIGKILL"),
    };
  };
  return { openLink, started, alive: () => started.filter(({ hasEnded }) => !hasEnded).length };
}
