// Interface of a model's runtime: an engine process of this machine, or a pool of upstream servers. The registry of models
// knows nothing else of either.

import type { AdapterId } from "./adapter.ts";
import type { Caller } from "./caller.ts";
import type { ImageEvent, ImageRequest } from "./image.ts";
import type { ModelPlacement } from "./placement.ts";
import type { Modality } from "./message.ts";
import type { ModelStatus, ModelWeights, TextAbilities } from "./model-info.ts";
import type { EmbedRequest, EmbedResult, RankRequest, RunEvent, RunRequest } from "./run.ts";
import type { SpeakRequest, SpeechEvent } from "./speech.ts";
import type { EngineHost, SystemUpstream } from "./system.ts";
import type { DeviceReadings } from "./telemetry.ts";

/** Where a model is computed. */
interface PlaceFacts {
  /** Devices of its layers; absent where the engine had none to choose, and for upstream models. */
  readonly placement?: ModelPlacement;
  /** The device that failed, if the model is on the CPU for that reason. */
  readonly deviceFault?: string;
}

/** Facts of a text model. What an upstream does not state is absent, or assumed to be possible. */
export interface TextFacts extends Partial<ModelWeights>, TextAbilities, PlaceFacts {
  readonly kind: "text";
  /** Longest sequence, prompt and answer together, tokens. */
  readonly contextTokens?: number;
  /** Size of the KV cache, tokens. */
  readonly cells?: number;
  /** Threads that decode. */
  readonly threads?: number;
  /** GGUF file on this machine. */
  readonly modelPath?: string;
  /** Parts of a conversation that its chat template leaves out: "text beside calls". */
  readonly leavesOut?: readonly string[];
  /** Media that it takes. */
  readonly modalities: readonly Modality[];
}

/** Facts of an image or speech model. */
export interface MediaFacts extends Partial<ModelWeights>, PlaceFacts {
  readonly kind: "image" | "speech";
  readonly threads?: number;
}

export type RuntimeFacts = TextFacts | MediaFacts;

/** Unloads a model that is not used. */
export interface IdleControl {
  /** Milliseconds until the model is unloaded; undefined: it stays. */
  readonly leftMs: number | undefined;
  /** Sets the time without requests, milliseconds; undefined: as configured. */
  set(idleMs: number | undefined): void;
}

/** Serves one model. */
export interface ModelRuntime {
  readonly status: ModelStatus;
  /** Why the last attempt to load the model failed, without details of this machine; undefined: none failed. */
  readonly failedLoad: string | undefined;
  /** Facts of the loaded model; undefined while it is not loaded. */
  readonly info: RuntimeFacts | undefined;
  /** Facts of the model when it was last loaded. */
  readonly known: RuntimeFacts | undefined;
  /** Facts of this machine, from its engine. */
  readonly host: EngineHost | undefined;
  /** The servers that run it; absent: an engine of this machine does. */
  readonly upstreams?: readonly SystemUpstream[];
  /** Requests in flight or waiting. */
  readonly activeRuns: number;
  readonly idle: IdleControl;
  /** It is unloaded by commands only. */
  readonly isPinned?: boolean;
  /** Pins it, or ends that. Absent: this server neither loads nor unloads it. */
  pin?(isPinned: boolean): void;
  /**
   * The most that it takes, copies of evicted prefixes as they are now: bytes by device, main memory is `host`; undefined
   * while it is not loaded.
   */
  readonly memory?: ReadonlyMap<string, number> | undefined;
  /** Devices besides the CPU as its engine has seen them last; undefined while it has none. */
  readonly readings?: DeviceReadings | undefined;
  /** Resident memory of its process now; undefined while it is not loaded. */
  readonly residentBytes?: number | undefined;
  /** Waits until the model is loaded; throws ServiceError. */
  loadedInfo(signal: AbortSignal, caller: Caller): Promise<RuntimeFacts>;
  /** Events with one terminal event, or none after an abort. */
  generate(
    request: RunRequest,
    signal: AbortSignal,
    caller: Caller,
    adapter?: AdapterId,
  ): AsyncGenerator<RunEvent>;
  draw(request: ImageRequest, signal: AbortSignal, caller: Caller): AsyncGenerator<ImageEvent>;
  speak(request: SpeakRequest, signal: AbortSignal, caller: Caller): AsyncGenerator<SpeechEvent>;
  /** Embeds texts, or scores documents: their vectors have one element. */
  embed(request: EmbedRequest | RankRequest, signal: AbortSignal, caller: Caller): Promise<EmbedResult>;
  /** Throws the reason why the model cannot be loaded. `isPreload`: others are not unloaded for it. */
  load(options?: { readonly isPreload?: boolean }): Promise<RuntimeFacts>;
  unload(): Promise<void>;
  reload(): Promise<RuntimeFacts>;
  /** Stops it permanently if its files are still being fetched; absent where it has none. */
  stopPreparing?(): Promise<void>;
  stop(): Promise<void>;
}
