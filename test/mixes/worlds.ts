// Pairs of a model with drafts and without, with random weights or the built-in ones.

import { join } from "node:path";
import type { TextOptions } from "../../src/engine/protocol.ts";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { convertAdapter } from "../../src/lora/convert.ts";
import type { DraftKind } from "../../src/worker/text/decode/speculative.ts";
import { architectureModel } from "../helpers/architecture-models.ts";
import { HEADED_NAMES } from "../helpers/architectures.ts";
import { grammars, tinyBackend, TINY_PATH } from "../helpers/native.ts";
import { chatTemplates } from "../helpers/templates.ts";
import { type DrafterKind, EVERY_OTHER, tinyDrafter } from "../helpers/tiny-drafters.ts";
import { tinyHybrid } from "../helpers/tiny-heads.ts";
import { tempDir } from "../helpers/tmp.ts";
import type { MixAsk } from "./asks.ts";
import { type MixWorld, type Outcome, runMix } from "./mix.ts";

export interface World {
  readonly name: string;
  readonly path: () => string;
  readonly speculative?: () => TextOptions["speculative"];
  readonly drafts: readonly DraftKind[];
  readonly adapters?: readonly string[];
  /** Name of a chat template of the family's makers. */
  readonly template?: string;
  /** Of the side with drafts. */
  readonly options?: Partial<TextOptions>;
}

const LOOKUP: readonly DraftKind[] = ["ngram", "ngram", "grammar", "auto"];
const NONE: readonly DraftKind[] = ["off", "auto", "ngram"];

/** Few, so that sequences are preempted. */
const CELLS = 320;

const ADAPTERS = ["red", "blue"];
const SAMPLED = { type: "mtp", mtpNPredict: 4, mtpDraftSampling: "probabilistic" } as const;
const LIKELIEST = { type: "mtp", mtpNPredict: 3, mtpDraftSampling: "greedy" } as const;
const silent = (): string => tinyHybrid({ silent: true, head: true });
const hybrid = (): string => tinyHybrid({ silent: false, head: true });
const block = (kind: DrafterKind): World => ({
  name: kind,
  path: silent,
  speculative: () => ({ ...LIKELIEST, mtpModel: tinyDrafter(kind) }),
  drafts: NONE,
});

/** A model with recurrent states of random weights, whose rejected drafts leave them. */
const states = (name: string, options: Partial<TextOptions> = {}): World => ({
  name: [name, ...Object.keys(options)].join("-"),
  path: name === "hybrid" ? hybrid : () => architectureModel(name),
  speculative: () => ({ ...LIKELIEST, ...(name === "hybrid" ? {} : { mtpModel: TINY_PATH }) }),
  drafts: NONE,
  options,
});

/** Their results depend on what else is in a pass, with the batch-invariant mode as well. */
const VARYING = new Set(["deepseek32", "glm-dsa"]);

export const WORLDS: readonly World[] = [
  { name: "lookup", path: () => TINY_PATH, drafts: LOOKUP, adapters: ADAPTERS },
  { name: "harmony", path: () => TINY_PATH, drafts: LOOKUP, template: "openai-gpt-oss-120b" },
  { name: "random-experts", path: () => architectureModel("qwen3moe"), drafts: LOOKUP },
  { name: "random-windows", path: () => architectureModel("gemma3"), drafts: LOOKUP },
  {
    name: "draft-model",
    path: () => TINY_PATH,
    speculative: () => ({ ...SAMPLED, mtpModel: TINY_PATH }),
    drafts: NONE,
    adapters: ADAPTERS,
  },
  {
    name: "draft-model-harmony",
    path: () => TINY_PATH,
    speculative: () => ({ ...LIKELIEST, mtpModel: TINY_PATH }),
    drafts: NONE,
    template: "openai-gpt-oss-120b",
  },
  { name: "head-right", path: silent, speculative: () => SAMPLED, drafts: NONE },
  { name: "head-random", path: hybrid, speculative: () => LIKELIEST, drafts: NONE },
  block("eagle3"),
  block("dflash"),
  block("dspark"),
  {
    name: "eagle3-some-tokens",
    path: silent,
    speculative: () => ({ ...SAMPLED, mtpModel: tinyDrafter("eagle3", { tokens: EVERY_OTHER }) }),
    drafts: NONE,
  },
  ...["lfm2", "nemotron_h_moe", "bailingmoe3"].map((name) => states(name)),
  states("hybrid", { ubatch: 6 }),
  states("hybrid", { prefixCacheN: 0 }),
  states("hybrid", { pagedAttn: false, contextLen: 8 * CELLS }),
  ...HEADED_NAMES.filter((name) => !VARYING.has(name)).map((name) => ({
    name: `${name}-head`,
    path: () => architectureModel(`${name}+head`),
    speculative: () => LIKELIEST,
    drafts: NONE,
  })),
];

/** A model with drafts and without. */
export interface Pair {
  readonly plain: MixWorld;
  readonly drafting: MixWorld;
  /** What becomes of a request alone, without drafts. */
  readonly alone: (ask: MixAsk) => Outcome;
  readonly close: () => void;
}

/** Opens both, the one with drafts on so many threads, or returns why a world cannot be had. */
export async function openPair(world: World, threads = 1): Promise<Pair | string> {
  const templates = chatTemplates();
  if (world.template !== undefined && templates.type === "missing") return templates.reason;
  const source = templates.type === "found" ? templates.sources.get(world.template ?? "") : undefined;
  if (world.template !== undefined && source === undefined) return `no template ${world.template}`;
  const options = {
    batchInvariant: true,
    contextLen: CELLS,
    prefixCacheN: 4,
    ...(source === undefined ? {} : { chatTemplate: source }),
  } as const;
  const path = world.path();
  const speculative = world.speculative?.();
  const plain = await open(world, path, { ...options, maxSeqs: 2, threads: 1 });
  const drafting = await open(world, path, {
    ...options,
    maxSeqs: 8,
    threads,
    ...(speculative && { speculative }),
    ...world.options,
  });
  return {
    plain,
    drafting,
    alone: (ask) => aloneOn(plain, ask),
    close: () => [plain, drafting].forEach(close),
  };
}

async function open(
  { adapters = [] }: World,
  path: string,
  options: Partial<TextOptions>,
): Promise<MixWorld> {
  const backend = await tinyBackend(options, path);
  const files = adapters.map(converted);
  files.forEach((file, i) => backend.loadAdapter(i + 1, file));
  return { backend, grammars: grammars(backend), adapters: files };
}

function close({ backend, grammars: engine }: MixWorld): void {
  engine.close();
  backend.close();
}

const files = new Map<string, string>();

function converted(name: string): string {
  const path = files.get(name) ?? join(tempDir(), `${name}.gguf`);
  if (!files.has(name))
    convertAdapter([join(import.meta.dir, "../fixtures/lora", name)], readGgufHeader(TINY_PATH), path);
  files.set(name, path);
  return path;
}

function aloneOn(world: MixWorld, ask: MixAsk): Outcome {
  const arrivals = [{ ask, steps: 0 }];
  const mix = { arrivals, drafts: "off", prefixCacheN: 0, multiStepMs: 0, clockMs: 1, followMs: 0 } as const;
  const [outcome] = runMix(world, mix).outcomes;
  if (outcome === undefined) throw new Error("a request has an outcome");
  return outcome;
}
