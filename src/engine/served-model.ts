// A model under the name that clients use, and what lists and reports say of it.

import { sumOf } from "./places.ts";
import { defined } from "../core/defined.ts";
import type { LoadControl } from "../core/load-settings.ts";
import type { MediaLimits } from "../core/media.ts";
import type { ModelFileFacts, ModelInfo, ModelKind } from "../core/model-info.ts";
import type { ModelRuntime, RuntimeFacts } from "../core/model-runtime.ts";
import { placementPhrase } from "../core/placement.ts";
import type { PresetLayers } from "../core/preset.ts";
import type { SystemModel } from "../core/system.ts";

/** A configured model under the name that clients use. */
export interface ServedModel {
  readonly id: string;
  readonly kind: ModelKind;
  /** `owner/name` of a model of the hub, which requests may use too. */
  readonly root?: string;
  /** Loaded by its first request instead of at the start. */
  readonly isLazy?: boolean;
  /** It is the default only while no other model of its kind is served. */
  readonly isStandIn?: boolean;
  /** Reads the facts of its file. */
  readonly file?: () => Promise<ModelFileFacts | undefined>;
  /** Reads the defaults of requests to it. */
  readonly presets?: () => PresetLayers;
  /** What it is loaded with, where that can be chosen. */
  readonly load?: LoadControl;
  readonly model: ModelRuntime;
  /** Limits of images and audio in one request, where they differ from the defaults. */
  readonly mediaLimits?: MediaLimits;
}

/** Facts of a loaded text model on its card. */
export function textFacts(info: RuntimeFacts | undefined): Partial<ModelInfo> {
  if (info?.kind !== "text") return {};
  const { modalities, contextTokens, leavesOut = [], architecture, description, sizeBytes } = info;
  const { generates, embeds, ranks, fillsGaps, thinks, isBase } = info;
  const isDescribed = architecture !== undefined && description !== undefined && sizeBytes !== undefined;
  return {
    modalities,
    ...(leavesOut.length === 0 ? {} : { leavesOut }),
    ...defined({ contextTokens }),
    abilities: { generates, embeds, ranks, fillsGaps, thinks, ...defined({ isBase }) },
    ...(isDescribed ? { weights: { architecture, description, sizeBytes } } : {}),
  };
}

/** Why a model that is not loaded could not be. */
export function failureOf({ status, failedLoad }: ModelRuntime): { readonly error?: string } {
  return failedLoad !== undefined && status === "unloaded" ? { error: failedLoad } : {};
}

/** Whether a model is pinned, where this server loads it. */
export function pinOf(model: ModelRuntime): { readonly isPinned?: boolean } {
  return model.pin === undefined ? {} : { isPinned: model.isPinned ?? false };
}

/** Where the layers of a loaded model are, on its card. */
function placeOf(info: RuntimeFacts | undefined): Pick<ModelInfo, "placement"> {
  const { placement, deviceFault } = info ?? {};
  if (deviceFault !== undefined) return { placement: `on the CPU: ${deviceFault} failed` };
  return placement === undefined ? {} : { placement: placementPhrase(placement) };
}

/** The card of a model. `created`: when the server was started, Unix seconds. */
export function cardOfServed(served: ServedModel, created: number): ModelInfo {
  const { id, kind, root, file, presets, mediaLimits, model } = served;
  return {
    id,
    kind,
    created,
    ownedBy: "svc",
    status: model.status,
    ...failureOf(model),
    ...pinOf(model),
    ...textFacts(model.known),
    ...placeOf(model.info),
    ...(model.memory === undefined
      ? {}
      : { memory: () => defined({ now: model.residentBytes, most: sumOf(model.memory) }) }),
    ...defined({ root, file, presets, mediaLimits }),
  };
}

/** The model as its engine reports it. */
export function systemModelOf({ id, model }: ServedModel): SystemModel {
  const { info } = model;
  const text = info?.kind === "text" ? info : undefined;
  return {
    id,
    status: model.status,
    architecture: info?.architecture ?? null,
    size_bytes: info?.sizeBytes ?? null,
    memory_bytes: sumOf(model.memory) ?? null,
    resident_bytes: model.residentBytes ?? null,
    context_tokens: text?.contextTokens ?? null,
    kv_cells: text?.cells ?? null,
    threads: info?.threads ?? null,
    placement: info?.placement ?? null,
    device_fault: info?.deviceFault ?? null,
    ...(model.upstreams === undefined ? {} : { upstreams: [...model.upstreams] }),
  };
}
