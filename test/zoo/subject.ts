// One architecture through our engine and our libraries, in a process of its own: what it answers in each situation, as JSON on
// stdout. usage: bun test/zoo/subject.ts NAME MODEL_DIR [drafted]; the last word leaves the other situations out

import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { RunEvent, RunRequest, TokenLogprob } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { Embedder, type EmbedOutcome } from "../../src/worker/text/embedder.ts";
import { Engine } from "../../src/worker/text/engine.ts";
import { architectureModel } from "../helpers/architecture-models.ts";
import { architecture } from "../helpers/architectures.ts";
import { noConstraints } from "../helpers/fake-backend.ts";
import { tinyBackend, TINY_PATH } from "../helpers/native.ts";
import { ALONE, NEXT, REPEATING, TOGETHER } from "./prompts.ts";
import type { Answered, Scenario, SubjectReport } from "./report.ts";

const ANSWER_TOKENS = 24;
/** More than a newcomer is given room for: streams that are admitted together outgrow a small cache. */
const LONG_ANSWER_TOKENS = 48;
const TOP = 5;
const CELLS = 2048;
/** More than the longest answer needs, and less than those that are admitted need at their ends. */
const FEW_CELLS = 256;
const SEQUENCES = 8;
const CHECKPOINT_BYTES = 1 << 28;

function request(tokens: readonly number[], maxTokens: number): RunRequest {
  return {
    model: "default",
    prompt: { type: "tokens", tokens },
    sampling: { ...DEFAULT_SAMPLING, temperature: 0 },
    stop: [],
    maxTokens,
    ignoreEnd: true,
    logprobs: { top: TOP },
    choices: 1,
    truncate: false,
  };
}

/** An engine whose clock goes on evenly, so that the same requests are scheduled alike on every machine. */
class Talk {
  private readonly engine: Engine;
  private logprobs: TokenLogprob[][] = [];
  private failures: string[] = [];
  private cached = 0;
  private clock = 0;

  constructor(backend: LlamaBackend, prefixCacheN: number, drafts: "off" | "ngram" = "off") {
    this.engine = new Engine({
      backend,
      constraints: noConstraints,
      prefixCacheN,
      checkpointBytes: CHECKPOINT_BYTES,
      drafts,
      emit: (run, event) => this.take(run, event),
      now: () => this.clock++,
      newSeed: () => 1,
    });
  }

  private take(run: number, event: RunEvent): void {
    if (event.type === "text" || event.type === "reasoning")
      this.logprobs[run]?.push(...(event.logprobs ?? []));
    if (event.type === "finish") this.cached += event.usage.cachedTokens;
    if (event.type === "error") this.failures.push(event.error.message);
  }

  /** Asks all at once. */
  ask(prompts: readonly (readonly number[])[], maxTokens = ANSWER_TOKENS): Answered[] {
    this.logprobs = prompts.map(() => []);
    prompts.forEach((tokens, id) => this.engine.add(id, request(tokens, maxTokens)));
    while (this.engine.step(5) !== "idle");
    const [failure] = this.failures;
    if (failure !== undefined) throw new Error(failure);
    return prompts.map((prompt, id) => ({
      prompt,
      tokens: (this.logprobs[id] ?? []).map(({ token, logprob, top }) => ({
        token,
        logprob,
        top: top.map((entry) => [entry.token, entry.logprob] as const),
      })),
    }));
  }

  /** What has happened, and the end of this engine. */
  close(): { preemptions: number; draftTokens: number; draftHits: number; cachedTokens: number } {
    const { preemptions, draftTokens, draftHits } = this.engine.stats();
    this.engine.close();
    return { preemptions, draftTokens, draftHits, cachedTokens: this.cached };
  }
}

/** A conversation: continued, regenerated, edited at its end; another user with its beginning. */
function reused(backend: LlamaBackend): Scenario {
  const talk = new Talk(backend, SEQUENCES);
  const first = TOGETHER[0] ?? [];
  const start = talk.ask([first]);
  const said = [...first, ...start.flatMap(({ tokens }) => tokens.map(({ token }) => token))];
  const turns = [[...said, ...NEXT], first, [...first, ...NEXT], [...first.slice(0, 40), ...NEXT]];
  const answers = turns.flatMap((prompt) => talk.ask([prompt]));
  return { answers: [...start, ...answers], count: talk.close().cachedTokens };
}

/** One prompt after the other, with nothing kept between them. */
function alone(backend: LlamaBackend, prompts: readonly (readonly number[])[]): Scenario {
  const talk = new Talk(backend, 0);
  const answers = [
    ...prompts.flatMap((prompt) => talk.ask([prompt])),
    ...TOGETHER.flatMap((prompt) => talk.ask([prompt], LONG_ANSWER_TOKENS)),
  ];
  return { answers, count: talk.close().cachedTokens };
}

const SIZES = {
  maxSeqs: SEQUENCES,
  prefixCacheN: SEQUENCES,
  contextLen: CELLS,
  batch: 256,
  ubatch: 64,
  threads: 1,
};

async function generated(path: string, backend: LlamaBackend): Promise<SubjectReport> {
  const { maxSeqs } = backend;
  const many = new Talk(backend, SEQUENCES);
  const together = { answers: many.ask(TOGETHER), count: many.close().cachedTokens };
  const reuse = reused(backend);
  const turns = reuse.answers.map(({ prompt }) => prompt).slice(1);
  const single = alone(backend, [...ALONE, ...REPEATING, ...turns]);
  backend.close();

  const small = await tinyBackend({ ...SIZES, contextLen: FEW_CELLS }, path);
  const crowded = new Talk(small, SEQUENCES);
  const answers = crowded.ask(TOGETHER, LONG_ANSWER_TOKENS);
  const preempted = { answers, count: crowded.close().preemptions };
  small.close();
  const scenarios = { alone: single, together, preempted, reuse, ...(await drafted(path)) };
  return { path, maxSeqs, scenarios };
}

/** Vectors of inputs that are asked for together. */
function vectors(backend: LlamaBackend, inputs: readonly (readonly number[])[]): number[][] {
  const outcomes: EmbedOutcome["result"][] = [];
  const embedder = new Embedder(
    () => backend.embedder(),
    ({ result }) => outcomes.push(result),
  );
  embedder.add(1, { model: "default", inputs, truncate: false });
  while (embedder.step(5));
  const [outcome] = outcomes;
  if (outcome === undefined || outcome instanceof ServiceError)
    throw new Error(outcome?.message ?? "no vectors");
  return outcome.vectors.map((vector) => Array.from(vector));
}

function embedded(path: string, backend: LlamaBackend): SubjectReport {
  const single = TOGETHER.flatMap((input) => vectors(backend, [input]));
  const embeddings = { inputs: TOGETHER, alone: single, together: vectors(backend, TOGETHER) };
  return { path, maxSeqs: backend.maxSeqs, scenarios: {}, embeddings };
}

/** The model drafts for itself, where it can; else the built-in one does, where the model can go back to what was before a draft. */
async function drafted(path: string): Promise<{ drafted?: Scenario }> {
  const backend = (await drafting(path, path)) ?? (await drafting(path, TINY_PATH));
  if (backend === undefined) return {};
  const talk = new Talk(backend, 4);
  const answers = [...talk.ask(REPEATING.slice(0, 1)), ...talk.ask(REPEATING)];
  const { draftTokens } = talk.close();
  backend.close();
  return { drafted: { answers, count: draftTokens } };
}

async function drafting(path: string, mtpModel: string): Promise<LlamaBackend | undefined> {
  const speculative = { type: "mtp", mtpDraftSampling: "greedy", mtpNPredict: 3, mtpModel } as const;
  try {
    return await tinyBackend({ ...SIZES, maxSeqs: 4, speculative }, path);
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

async function report(name: string, path: string, only?: string): Promise<SubjectReport> {
  if (only === "drafted") return { path, maxSeqs: SEQUENCES, scenarios: await drafted(path) };
  const backend = await tinyBackend(SIZES, path);
  return architecture(name).traits.includes("embeds") ? embedded(path, backend) : generated(path, backend);
}

const [name = "", dir = "", only] = process.argv.slice(2);
await Bun.write(Bun.stdout, JSON.stringify(await report(name, architectureModel(name, dir), only)));
process.exit(0);
