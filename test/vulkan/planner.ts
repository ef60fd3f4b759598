// Plans models that are only headers (hollow-model.ts) for the cards that faults.c claims, and prints what goes where: a process of its own,
// because the cards are chosen before the driver is loaded. Arguments: a PlanCase each.

import { planDevices } from "../../ffi/llama/device-plan.ts";
import { freePlan } from "../../ffi/llama/placement.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import { type Hollow, hollowModel } from "../helpers/hollow-model.ts";
import { native, TINY_PATH } from "../helpers/native.ts";

export interface PlanCase {
  readonly model: Hollow;
  readonly options: Partial<TextOptions>;
}

export interface PlanOutcome {
  readonly layers: number;
  readonly deviceLayers: number;
  /** Layers whose experts, or a part of them, are on the CPU. */
  readonly divided: number;
  readonly cells: number;
  readonly ubatch: number;
  readonly draftTokens: number | undefined;
  /** The CPU last, bytes. */
  readonly weights: readonly number[];
  readonly cache: readonly number[];
  readonly summary: string;
}

const OPTIONS: TextOptions = {
  kind: "text",
  cacheDir: "",
  maxSeqs: 16,
  prefixCacheN: 32,
  cacheType: "f16",
  pagedAttn: true,
  threads: 2,
  batch: 2048,
  ubatch: 512,
  deviceUbatch: 1024,
  mixtureUbatch: 2048,
  deviceLayers: -1,
  placement: {},
  verbosity: 0,
};

const MAIN_MEMORY = 2 ** 36;

async function outcome({ model, options: more }: PlanCase): Promise<PlanOutcome> {
  const options = { ...OPTIONS, ...more };
  const file = { path: hollowModel(model), withHead: false, name: "the model" };
  const drafts = options.speculative?.type === "mtp";
  const draftFile = drafts ? { path: TINY_PATH, withHead: true, name: "mtp_model" } : undefined;
  const load = { file, draftFile, freeBytes: () => MAIN_MEMORY };
  const { plan, layers, summary, options: planned } = await planDevices(native(), options, load);
  const { report } = layers;
  const { speculative } = planned;
  freePlan(native(), layers);
  return {
    layers: report.layers,
    deviceLayers: report.device_layers,
    divided: report.divided_layers,
    cells: plan.cells,
    ubatch: planned.ubatch,
    draftTokens: speculative?.type === "mtp" ? speculative.mtpNPredict : undefined,
    weights: report.devices.map(({ weights }) => weights),
    cache: report.devices.map(({ cache }) => cache),
    summary,
  };
}

if (import.meta.main) {
  const outcomes: PlanOutcome[] = [];
  for (const one of process.argv.slice(2)) outcomes.push(await outcome(JSON.parse(one) as PlanCase)); // written by a test
  console.log(JSON.stringify(outcomes));
  process.exit(0);
}
