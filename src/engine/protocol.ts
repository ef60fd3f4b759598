// Messages between the serving process and an engine process: plain JSON data. The only file that both import, besides
// core/. One `events` message carries the events of all runs in a step.

import type { MediaFacts, TextFacts } from "../core/model-runtime.ts";
import type { AdapterId } from "../core/adapter.ts";
import type { CacheRequest } from "../core/cache-size.ts";
import type { ErrorData } from "../core/error.ts";
import type { ImageEvent, ImageRequest } from "../core/image.ts";
import type { EmbedRequest, RankRequest, RunEvent, RunRequest } from "../core/run.ts";
import type { SpeakRequest, SpeechEvent } from "../core/speech.ts";
import type { NeuralVoices } from "../core/voice-files.ts";
import type { EngineHost } from "../core/system.ts";
import type { DeviceStats, EngineStats } from "../core/telemetry.ts";
import type { CalibrationCounts } from "../core/requantize.ts";

/** Number of a run on one link; never reused on it. */
export type RunId = number;

/** Options of every kind of engine. */
interface CommonOptions {
  /** Folder of unpacked native libraries. */
  readonly cacheDir: string;
  /** Compute threads; absent: see the setting `threads`. */
  readonly threads?: number;
  /** Native log to stderr: 0 none, 1 warnings, 2 info, 3 debug. */
  readonly verbosity: number;
}

/** Source of draft tokens. */
export type Speculative =
  /** What grammars dictate; auto: in drawn answers alone; ngram: n-grams of the sequence itself besides. */
  | { readonly type: "auto" | "grammar" | "ngram" }
  /**
   * A draft model, `mtpNPredict` tokens at once; without a file, the prediction head in the model's own. Draft tokens are the
   * most likely ones (greedy), or sampled like the answer (probabilistic).
   */
  | {
      readonly type: "mtp";
      readonly mtpModel?: string;
      readonly mtpNPredict: number;
      /** The same for a model that is on devices as a whole; absent: `mtpNPredict`. */
      readonly deviceNPredict?: number;
      readonly mtpDraftSampling: "greedy" | "probabilistic";
    };

/** Memory and disk for copies of KV cells. */
export interface TierOptions {
  /** Bytes of memory; absent: a share of what is free. */
  readonly memoryBytes?: number;
  /** Absent: no copies on disk. */
  readonly disk?: { readonly folder: string; readonly bytesMax: number };
}

/** One device for all layers, each layer on one device, or the rows of each layer on all devices. */
export type SplitMode = "none" | "layer" | "row";

/** How the layers of a model are divided between devices. */
export interface PlacementOptions {
  readonly splitMode?: SplitMode;
  /** Number of the device of split mode `none`. */
  readonly mainGpu?: number;
  /** Shares of the devices. */
  readonly tensorSplit?: readonly number[];
  /** Layers, from the first one, whose experts stay on the CPU. */
  readonly expertsOnCpu?: number | "all";
  /** Most memory of each device, bytes. */
  readonly memoryBytes?: number;
}

/** Devices that compute a model. */
export interface DeviceOptions {
  /**
   * Layers on devices, the output layer as one; -1: as many as fit; 0: the devices are not used. Above 0 an image model, which counts as
   * one layer, must be on a device.
   */
  readonly deviceLayers: number;
  /** How they are divided; absent: by free memory. */
  readonly placement?: PlacementOptions;
  /** After a device has failed the model is loaded on the CPU; absent: on the device again. */
  readonly fallback?: "cpu";
  /** Compute back ends to load beside the embedded one for the CPU; absent: none. */
  readonly backends?: readonly BackendLibrary[];
}

/** How a text model is loaded. */
export interface TextOptions extends CommonOptions, CacheRequest, DeviceOptions {
  readonly kind: "text";
  /** GGUF file; absent: the built-in model. */
  readonly modelPath?: string;
  /** GGUF file with the encoder for images and audio; absent: the model takes text only. */
  readonly mmprojPath?: string;
  /** Finished prefixes kept in the KV cache for reuse; 0 disables sharing. */
  readonly prefixCacheN: number;
  /** Memory for checkpoints, bytes; absent: none. */
  readonly checkpointBytes?: number;
  /** Tiers of evicted prefixes outside the KV cache; absent: none. */
  readonly tiers?: TierOptions;
  /** Runs of all API keys share the KV cache; absent: each key has its own prefixes. */
  readonly cacheScope?: "all";
  /** Recompute the whole sequence for every token: no KV cell outlives a step. */
  readonly noKvCache?: true;
  /** Refuse a model whose answers would depend on other requests. The process has SVC_BATCH_INVARIANT=1. */
  readonly batchInvariant?: true;
  /** Source of draft tokens; absent: no speculative decoding. */
  readonly speculative?: Speculative;
  /** One pool of cells for all sequences; false gives each a fixed share. */
  readonly pagedAttn: boolean;
  /** Threads for prefill; `threads` are those for decode. */
  readonly threadsBatch?: number;
  /** Tokens of a step, and of a micro-batch. */
  readonly batch: number;
  readonly ubatch: number;
  /** The same for a model that is on devices as a whole; absent: `ubatch`. */
  readonly deviceUbatch?: number;
  /** The most for a mixture of experts there; absent: `deviceUbatch`. */
  readonly mixtureUbatch?: number;
  /** Part of a step's time that prefill takes beside decode rows; absent: half. */
  readonly prefillShare?: number;
  /** Most function calls of an answer; absent: ANSWER_CALLS_MAX. */
  readonly maxCalls?: number;
  /** Name of the file of `chatTemplate`, for messages. */
  readonly templateName?: string;
  /** Jinja source that replaces the model's own chat template. */
  readonly chatTemplate?: string;
  /** Control tokens that message text may contain; absent: none. */
  readonly contentTokens?: readonly string[];
  /** Whether the model thinks when a request does not say: always (the default), or as its template does. */
  readonly thinkingDefault?: "on" | "template";
  /** GGUF adapter of every pass; absent: none. Excludes adapters that requests choose. */
  readonly adapterPath?: string;
  /** host:port, on this machine, of relays to RPC workers whose devices take layers; absent: none. */
  readonly rpcEndpoints?: readonly string[];
}

/** A compute back end that was added to svc. */
export interface BackendLibrary {
  readonly name: string;
  /** Absolute path of its shared library. */
  readonly path: string;
  /** Shared libraries of the system that it needs, in load order. */
  readonly needs: readonly NeededLibrary[];
}

/** A shared library of the system. */
export interface NeededLibrary {
  /** Names and paths to try. */
  readonly paths: readonly string[];
  /** One that it exports. */
  readonly symbol: string;
  /** Its origin, for error messages. */
  readonly from: string;
}

/** Files of an image model: a checkpoint that holds all parts, or the diffusion weights; the others add or replace parts. */
export interface ImageFiles {
  readonly model?: string;
  readonly diffusionModel?: string;
  readonly vae?: string;
  readonly clipL?: string;
  readonly clipG?: string;
  readonly t5xxl?: string;
  readonly llm?: string;
}

/** How an image model is loaded. */
export interface ImageOptions extends CommonOptions, DeviceOptions {
  readonly kind: "image";
  readonly files: ImageFiles;
  /** Of every image; absent: the defaults of the model's family. */
  readonly steps?: number;
  readonly guidance?: number;
}

/** How a speech model is loaded. */
export interface SpeechOptions extends CommonOptions {
  readonly kind: "speech";
  readonly voice: VoiceSource;
}

/** Source of a voice. */
export type VoiceSource =
  /** A voice inside the executable. */
  | { readonly type: "flite"; readonly name: string }
  /** A neural voice in a folder, for svc's own engine. */
  | {
      readonly type: "neural";
      readonly folder: string;
      readonly voices: NeuralVoices;
      /** The one that speaks by default. */
      readonly voice: string;
      /** Voices by the names that requests give them. */
      readonly names: Readonly<Record<string, string>>;
    }
  /** A VITS voice in a folder, for an operator's own sherpa-onnx library. */
  | { readonly type: "sherpa"; readonly library: string; readonly folder: string };

/** Options of an engine process, in its first message; `kind` selects the worker. */
export type EngineOptions = TextOptions | ImageOptions | SpeechOptions;

type PlaceFacts = "placement" | "deviceFault";
type OptionalFacts = PlaceFacts | "isBase" | "leavesOut";

/** Facts of a loaded text model. */
export interface TextInfo extends Required<Omit<TextFacts, OptionalFacts>>, Pick<TextFacts, OptionalFacts> {
  readonly vocabulary: number;
  readonly trainedContext: number;
  readonly maxSeqs: number;
  /** The file has a multi-token prediction head, used or not. */
  readonly hasHead: boolean;
}

/** Facts of a loaded image or speech model. */
export type MediaInfo = Required<Omit<MediaFacts, PlaceFacts>> & Pick<MediaFacts, PlaceFacts>;

export type EngineInfo = TextInfo | MediaInfo;

/** Event of one request. A `finish`, an `error` or the last `speech` event ends it. */
export type EngineEvent = RunEvent | ImageEvent | SpeechEvent;

/** Calibration command; answered with the counts after it. */
export type CalibrationCommand =
  /** Drops earlier statistics. A matrix stops after `rowsMax` rows; 0: never. */
  | { readonly type: "start"; readonly rowsMax: number }
  | { readonly type: "count" }
  /** Stops, and writes the statistics as an importance matrix. */
  | { readonly type: "save"; readonly file: string };

export type ToEngine =
  | { readonly type: "start"; readonly options: EngineOptions }
  /** The adapter must have been loaded. Runs of different scopes share no cache. */
  | {
      readonly type: "run";
      readonly id: RunId;
      readonly request: RunRequest;
      readonly adapter?: AdapterId;
      readonly scope?: string;
    }
  | { readonly type: "draw"; readonly id: RunId; readonly request: ImageRequest }
  /** Answered by `adapter_loaded` or `adapter_failed` of the same adapter. */
  | { readonly type: "load_adapter"; readonly adapter: AdapterId; readonly file: string }
  /** Answered by `calibration` or `calibration_failed` of the same id. */
  | { readonly type: "calibrate"; readonly id: RunId; readonly command: CalibrationCommand }
  /** No run uses it. Not answered. */
  | { readonly type: "free_adapter"; readonly adapter: AdapterId }
  /** Answered by `embedded`, `embed_failed` or `embed_left` of the same id. */
  | { readonly type: "embed"; readonly id: RunId; readonly request: EmbedRequest | RankRequest }
  /** Answered by events of the same id. */
  | { readonly type: "speak"; readonly id: RunId; readonly request: SpeakRequest }
  /** The reader has taken a piece of speech: one more may be synthesized. Not answered. */
  | { readonly type: "speak_on"; readonly id: RunId }
  /** The client has disconnected: stop within one step. A run of text still gets its last event, which says what it has spent. */
  | { readonly type: "abort"; readonly id: RunId }
  /** From the next step on; for measuring. */
  | { readonly type: "threads"; readonly threads: number; readonly threadsBatch: number }
  /** Answered by `pong`, between two steps. */
  | { readonly type: "ping" }
  | { readonly type: "stop" };

export type FromEngine =
  | { readonly type: "pong" }
  | { readonly type: "loading"; readonly permille: number }
  /** Where the layers go, before the weights are read. `devices` names those that get some, with their driver. */
  | { readonly type: "placed"; readonly summary: string; readonly devices: string }
  /** The chat template is about to run, which may loop; the next message says that it has finished. */
  | { readonly type: "trying_template" }
  /** Engines of text and image models also describe the machine. */
  | { readonly type: "ready"; readonly info: EngineInfo; readonly host?: EngineHost }
  /** The process is unusable, from the start or from now on. */
  | { readonly type: "failed"; readonly error: ErrorData }
  /** For the operator. */
  | { readonly type: "log"; readonly line: string }
  /** Vectors as base64 of little-endian f32, a third of JSON's size; rank requests have one score in each. */
  | {
      readonly type: "embedded";
      readonly id: RunId;
      readonly vectors: readonly string[];
      readonly promptTokens: number;
    }
  /** A few times a second while there is work, and once when it is done. */
  | { readonly type: "stats"; readonly stats: EngineStats }
  /** Devices besides the CPU as they are now: once it is ready, with work, and with a `pong`. */
  | { readonly type: "devices"; readonly devices: readonly DeviceStats[] }
  | { readonly type: "embed_failed"; readonly id: RunId; readonly error: ErrorData }
  /** It was aborted after `promptTokens` tokens. */
  | { readonly type: "embed_left"; readonly id: RunId; readonly promptTokens: number }
  | { readonly type: "calibration"; readonly id: RunId; readonly counts: CalibrationCounts }
  | { readonly type: "calibration_failed"; readonly id: RunId; readonly error: ErrorData }
  | { readonly type: "adapter_loaded"; readonly adapter: AdapterId }
  | { readonly type: "adapter_failed"; readonly adapter: AdapterId; readonly error: ErrorData }
  /** events[i] belongs to runs[i]; in order for each run. */
  | { readonly type: "events"; readonly runs: readonly RunId[]; readonly events: readonly EngineEvent[] };
