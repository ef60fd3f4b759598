// Runs requests through a real Engine on a real backend, without processes or HTTP.

import { expect } from "bun:test";
import type { GrammarEngine } from "../../ffi/llama/grammar.ts";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { AdapterId } from "../../src/core/adapter.ts";
import { unreachable } from "../../src/core/assert.ts";
import type { FinishReason, RunEvent, RunRequest, TokenLogprob, Usage } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { Engine, type EngineDeps } from "../../src/worker/text/engine.ts";
import { grammars } from "./native.ts";

/** One choice of an answer, folded. */
export interface Answer {
  reasoning: string;
  text: string;
  calls: { id: string; name: string; args: string }[];
  reason: FinishReason | undefined;
  /** Where the request asks for it. */
  fingerprint?: string;
  logprobs: TokenLogprob[];
}

/** A greedy chat request about one user message. */
export function chatRequest(
  text: string,
  extra: Partial<RunRequest> = {},
  { thinks = false } = {},
): RunRequest {
  return {
    model: "default",
    prompt: {
      type: "chat",
      messages: [{ role: "user", content: [{ type: "text", text }] }],
      tools: [],
      toolChoice: { type: "none" },
      thinking: { enabled: thinks },
    },
    sampling: { ...DEFAULT_SAMPLING, temperature: 0 },
    stop: [],
    maxTokens: 120,
    choices: 1,
    truncate: false,
    ...extra,
  };
}

export function emptyAnswer(): Answer {
  return { reasoning: "", text: "", calls: [], reason: undefined, logprobs: [] };
}

/** Adds an event of its choice to an answer. */
export function take(answer: Answer, event: RunEvent): void {
  switch (event.type) {
    case "text":
    case "reasoning":
      answer[event.type] += event.text;
      answer.logprobs.push(...(event.logprobs ?? []));
      break;
    case "tool_call_start":
      expect(event.index).toBe(answer.calls.length);
      answer.calls.push({ id: event.id, name: event.name, args: "" });
      break;
    case "tool_call_args": {
      const call = answer.calls[event.index];
      expect(call).toBeDefined();
      if (call !== undefined) call.args += event.delta;
      break;
    }
    case "choice_end":
      answer.reason = event.reason;
      if (event.fingerprint !== undefined) answer.fingerprint = event.fingerprint;
      break;
    case "accepted":
    case "load_progress":
    case "prompt_progress":
    case "context_edited":
    case "finish":
    case "error":
      break;
    default:
      unreachable(event);
  }
}

const engines = new WeakMap<LlamaBackend, GrammarEngine>();

function newEngine(backend: LlamaBackend): GrammarEngine {
  const engine = grammars(backend);
  engines.set(backend, engine);
  return engine;
}

/** An engine that answers one request after the other, and so may remember. */
export class EngineTalk {
  private readonly engine: Engine;
  private events: RunEvent[] = [];
  private runs = 0;

  constructor(backend: LlamaBackend, prefixCacheN: number) {
    this.engine = new Engine({
      backend,
      constraints: () => engines.get(backend) ?? newEngine(backend),
      prefixCacheN,
      checkpointBytes: 1 << 26,
      emit: (_run, event) => this.events.push(event),
      now: () => performance.now(),
      newSeed: () => 1,
    });
  }

  /** The answer's first choice; fails the test if the run ended with an error. */
  ask(request: RunRequest): { answer: Answer; usage: Usage } {
    this.events = [];
    this.engine.add(this.runs++, request);
    while (this.engine.step(5) !== "idle");
    const answer = emptyAnswer();
    for (const event of this.events) take(answer, event);
    const end = this.events.at(-1);
    if (end?.type !== "finish") throw new Error(`the run failed: ${JSON.stringify(end)}`);
    return { answer, usage: end.usage };
  }

  stats(): ReturnType<Engine["stats"]> {
    return this.engine.stats();
  }

  /** Leaves the backend's cache empty. */
  close(): void {
    this.engine.close();
  }
}

/** All events of one request. */
export function eventsOf(backend: LlamaBackend, request: RunRequest): readonly RunEvent[] {
  const events: RunEvent[] = [];
  const engine = new Engine({
    backend,
    constraints: () => engines.get(backend) ?? newEngine(backend),
    prefixCacheN: 0,
    emit: (_run, event) => events.push(event),
    now: () => performance.now(),
    newSeed: () => 1,
  });
  engine.add(0, request);
  while (engine.step(5) !== "idle");
  return events;
}

/**
 * Runs all requests together, each through the adapter of the same place (the base model where there is none); the
 * answers' choices in order, or the error a run ended with.
 */
export function runAll(
  backend: LlamaBackend,
  requests: readonly RunRequest[],
  prefixCacheN = 0,
  adapters: readonly AdapterId[] = [],
): (Answer[] | RunEvent)[] {
  return runCounted(backend, requests, { prefixCacheN, adapters }).answers;
}

export interface RunOptions extends Partial<Pick<EngineDeps, "drafts" | "now">> {
  readonly prefixCacheN?: number;
  readonly adapters?: readonly AdapterId[];
}

/** Like `runAll`, with the engine's counters at the end. */
export function runCounted(
  backend: LlamaBackend,
  requests: readonly RunRequest[],
  { prefixCacheN = 0, adapters = [], drafts = "off", now = () => performance.now() }: RunOptions,
): { readonly answers: (Answer[] | RunEvent)[]; readonly stats: ReturnType<Engine["stats"]> } {
  const out: (Answer[] | RunEvent)[] = requests.map(({ choices }) =>
    Array.from({ length: choices }, emptyAnswer),
  );
  const engine = new Engine({
    drafts,
    backend,
    constraints: () => engines.get(backend) ?? newEngine(backend),
    prefixCacheN,
    emit: (run, event) => {
      const answers = out[run];
      if (event.type === "error") out[run] = event;
      else if (Array.isArray(answers) && "choice" in event) {
        const answer = answers[event.choice];
        if (answer !== undefined) take(answer, event);
      }
    },
    now,
    newSeed: () => 1,
  });
  requests.forEach((request, id) => engine.add(id, request, adapters[id]));
  while (engine.step(5) !== "idle");
  const stats = engine.stats();
  engine.close();
  return { answers: out, stats };
}

/** The first choice of one request; fails the test if the run ended with an error. */
export function run(backend: LlamaBackend, request: RunRequest): Answer {
  const [answers] = runAll(backend, [request]);
  if (!Array.isArray(answers) || answers[0] === undefined)
    throw new Error(`the run failed: ${JSON.stringify(answers)}`);
  return answers[0];
}
