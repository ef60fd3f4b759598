// Opens a model for an engine: decides where its layers go, loads it and its draft model, creates its context.

import { freeMemory } from "../../src/core/free-memory.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import type { Native } from "../library.ts";
import {
  type ContextPlan,
  type ContextThreads,
  contextColumns,
  openContext,
  planContext,
  threadsFor,
} from "./context.ts";
import { machineMemory, planDevices } from "./device-plan.ts";
import {
  type GraphLimits,
  graphLimits,
  infoOf,
  type LoadHooks,
  loadModel,
  lowered,
  type ModelFile,
  type ModelInfo,
} from "./model.ts";
import { deviceNames, type LayerPlan, mayUseDevices } from "./placement.ts";
import { interleaveMemory } from "../linux/interleaving.ts";
import type { Handle } from "../text.ts";

/** A loaded model with its context. The caller frees the handles. */
export interface OpenedModel {
  readonly path: string;
  readonly model: Handle;
  /** The draft model, where it is a separate file. */
  readonly draft: Handle | undefined;
  readonly context: Handle;
  readonly meta: ModelInfo;
  readonly limits: GraphLimits;
  /** As requested, with the sequences that the architecture can run. */
  readonly options: TextOptions;
  readonly plan: ContextPlan;
  readonly threads: ContextThreads;
  /** Where the layers are; absent: on the CPU, without a device to choose. */
  readonly layers: LayerPlan | undefined;
}

/** Throws ServiceError(model_unavailable) with the reason. */
export async function openModel(
  native: Native,
  path: string,
  asked: TextOptions,
  { onProgress, onPlaced, freeBytes = freeMemory }: LoadHooks,
): Promise<OpenedModel> {
  interleaveMemory();
  const { speculative } = asked;
  const draftPath = speculative?.type === "mtp" ? speculative.mtpModel : undefined;
  const file = { path, withHead: speculative?.type === "mtp" && draftPath === undefined, name: "the model" };
  const draftFile =
    draftPath === undefined ? undefined : { path: draftPath, withHead: true, name: "mtp_model" };
  const planned = mayUseDevices(native, asked)
    ? await planDevices(native, asked, { file, draftFile, freeBytes })
    : undefined;
  if (planned !== undefined) onPlaced?.(planned.summary, deviceNames(native, planned.layers));
  const layers = planned?.layers;
  const model = await loadModel(native, { ...file, place: placeOf(layers) }, onProgress);
  const draft =
    draftFile === undefined
      ? undefined
      : await loadModel(native, { ...draftFile, place: placeOf(layers?.draft) });
  const meta = infoOf(native, model);
  const limits = graphLimits(meta);
  const options = planned?.options ?? lowered(asked, limits);
  const draftMeta = draft === undefined ? undefined : infoOf(native, draft);
  const plan = planned?.plan ?? planContext(meta, limits, options, machineMemory(), draftMeta);
  const threads = threadsFor(meta, options, layers?.report);
  const context = openContext(native, model, contextColumns(options, plan, threads), options);
  return { path, model, draft, context, meta, limits, options, plan, threads, layers };
}

function placeOf(plan: LayerPlan | undefined): ModelFile["place"] {
  return plan === undefined ? { type: "cpu" } : { type: "plan", handle: plan.handle };
}
