import type { Caller } from "./caller.ts";
import type { MediaLimits } from "./media.ts";
import type { Modality } from "./message.ts";
import type { Preset, PresetLayers } from "./preset.ts";
import type { TuneProfile, TuneReport } from "./measure.ts";

/** loaded: answers at once. reloading: on its way, requests wait. unloaded: the next request loads it. */
export type ModelStatus = "loaded" | "unloaded" | "reloading";

/** Kind of a model: text models continue or embed texts. An engine process serves one kind. */
export type ModelKind = "text" | "image" | "speech";

export const CHAT_TEMPLATE_SOURCES = ["file", "settings", "none"] as const;
export type ChatTemplateSource = (typeof CHAT_TEMPLATE_SOURCES)[number];

/** Facts of a model's file, known before it is loaded. */
export interface ModelFileFacts {
  readonly architecture: string | undefined;
  readonly license: string | undefined;
  /** Type of most weights: `Q4_K_M`. */
  readonly quantization: string | undefined;
  /** Longest context that the model was trained for, tokens. */
  readonly contextTokens: number | undefined;
  readonly parameters: number;
  /** Where its chat template is from. `none`: probably a base model. */
  readonly chatTemplate: ChatTemplateSource;
  /** Size of the file with all its parts. */
  readonly sizeBytes: number;
  /** The most that the loaded model takes of main memory, estimated. */
  readonly memoryBytes: number;
  /** What its header says on cards of Ollama's dialect. */
  readonly card?: FileCard;
}

/** Memory of a loaded model, bytes. */
export interface ModelMemory {
  /** Resident memory of its process. */
  readonly now?: number;
  /** The most that it takes, on all devices. */
  readonly most?: number;
}

/** What a file says of a text model before it is loaded. */
export interface FileCard {
  /** Plain values of the header: `general.basename`, `qwen3.embedding_length`. */
  readonly metadata: Readonly<Record<string, string | number | boolean>>;
  readonly abilities: TextAbilities;
  readonly modalities: readonly Modality[];
}

/** Public facts of a served model. */
export interface ModelInfo {
  /** Public id, as sent in `model`. Never a path of the server. */
  readonly id: string;
  readonly kind: ModelKind;
  /** When the model became known to this server, Unix seconds. */
  readonly created: number;
  readonly ownedBy: string;
  readonly status: ModelStatus;
  /** Why loading failed; public, so without details of this machine. */
  readonly error?: string;
  /** It is unloaded by commands only; absent: this server neither loads nor unloads it. */
  readonly isPinned?: boolean;
  /** Parts of a conversation that its chat template leaves out; absent: none is known. */
  readonly leavesOut?: readonly string[];
  /** Input besides text; absent until the model has been loaded once. */
  readonly modalities?: readonly Modality[];
  /** Its own limits of media. */
  readonly mediaLimits?: MediaLimits;
  /** Longest sequence, prompt and answer together, tokens; absent until it has been loaded once. */
  readonly contextTokens?: number;
  /** Abilities of a text model; absent until it has been loaded once. */
  readonly abilities?: TextAbilities;
  /** Of a text model; absent until it has been loaded once. */
  readonly weights?: ModelWeights;
  /** Where the layers of a text model are computed, in a phrase; absent: on the CPU. */
  readonly placement?: string;
  /** Reads the facts of its file; undefined where it is not on this machine. Absent: it has no file here. */
  readonly file?: () => Promise<ModelFileFacts | undefined>;
  /** Reads its memory; absent: it is not loaded here. */
  readonly memory?: () => ModelMemory;
  /** Reads the defaults of requests to it. Absent: there are none. */
  readonly presets?: () => PresetLayers;
  /** Public source: `owner/name` on the hub, an adapter's alias; absent for files of this machine. */
  readonly root?: string;
  /** Of an adapter: its base model, and what its alias points to now. */
  readonly parent?: string;
  readonly adapterGeneration?: string;
}

/** A model as a chat shows it. */
export interface ChatModel extends Pick<ModelInfo, "id" | "contextTokens" | "modalities"> {
  /** Whether it can reason before it answers. */
  readonly thinks?: boolean;
  /** It has no chat template: it continues its prompt. */
  readonly isBase?: boolean;
  /** Name that requests send for it; absent: its id. */
  readonly target?: string;
  /** Defaults of its requests. A server's own are filled in by the server: only those that a chat sends count. */
  readonly preset?: Preset;
  /** Whose word each of them is. */
  readonly presetFrom?: Readonly<Record<string, string>>;
}

/** Load state of a model. */
export interface ModelState {
  readonly id: string;
  readonly status: ModelStatus;
  /** Why loading failed; public, so without details of this machine. */
  readonly error?: string;
  /** It is unloaded by commands only; absent: this server neither loads nor unloads it. */
  readonly isPinned?: boolean;
  /** Time until it is unloaded without a request, milliseconds; absent: it stays loaded. */
  readonly idleLeftMs?: number;
}

/** A model that could not be loaded, with the reason for the operator. */
export interface LoadFailure {
  readonly id: string;
  readonly reason: string;
}

export interface TextAbilities {
  /** It continues texts; embedding-only models do not. */
  readonly generates: boolean;
  /** It turns texts into vectors; rerankers and models with an encoder of their own do not. */
  readonly embeds: boolean;
  /** It scores documents. */
  readonly ranks: boolean;
  /** It fills gaps in texts: its vocabulary has tokens for it. */
  readonly fillsGaps: boolean;
  /** Its chat template lets it think before it answers. */
  readonly thinks: boolean;
  /** It has no chat template: probably a base model. A conversation is a text that it continues. */
  readonly isBase?: true;
}

/** The weights of a loaded text model. */
export interface ModelWeights {
  readonly architecture: string;
  /** By llama.cpp: architecture, parameters, type: `qwen3 0.6B Q4_K - Medium`. */
  readonly description: string;
  readonly sizeBytes: number;
}

/** Commands about a model, each given a name that requests may use. Throws ServiceError. */
export interface ModelControl {
  status(name: string): ModelState;
  /** Says how long it stays without requests, milliseconds; undefined: as configured, infinity: until it is unloaded. */
  keep(name: string, idleMs: number | undefined): void;
  /** Pins it, or ends that. Neither loads nor unloads it. */
  pin(name: string, isPinned: boolean): ModelState;
  /** Resolves when it is loaded; waits as a request does. */
  ensureLoaded(name: string, signal: AbortSignal, caller: Caller): Promise<ModelState>;
  /** Resolves when running requests have ended and the memory is free. */
  unload(name: string): Promise<ModelState>;
  /** Resolves when it is loaded again. */
  reload(name: string): Promise<ModelState>;
}

/** Measures settings with a model, in an engine of its own. Takes minutes; throws ServiceError. */
export type TuneModel = (name: string, profile: TuneProfile, signal: AbortSignal) => Promise<TuneReport>;

/** Tools that models may call without a request's asking for them. */
export interface ToolCounts {
  /** Whether there are any, a URL that runs clients' functions included. */
  readonly isAny: boolean;
  readonly mcpTools: number;
  readonly mcpServers: number;
}

/** What a request wants of a model. */
export type Ability = "generates" | "embeds" | "ranks" | "draws" | "speaks";

/** The kind of model with an ability. */
export const KIND_OF: Readonly<Record<Ability, ModelKind>> = {
  generates: "text",
  embeds: "text",
  ranks: "text",
  draws: "image",
  speaks: "speech",
};

type Card = Pick<ModelInfo, "kind" | "abilities">;

/** The name of the default model of each kind. */
export const DEFAULT_NAME = "default";

/**
 * The model that `default` means in a request: the first of the right kind, but not one that is known to be unable while another is
 * able; for vectors and scores one that is made for them. Undefined if none has the kind.
 */
export function defaultModel<M extends Card>(models: readonly M[], ability: Ability): M | undefined {
  const ofKind = models.filter(({ kind }) => kind === KIND_OF[ability]);
  const fitting = ofKind.find(({ abilities: known }) => {
    if (ability === "generates") return known?.generates ?? true;
    if (ability === "embeds") return known?.embeds === true && !known.generates;
    return ability !== "ranks" || known?.ranks === true;
  });
  return fitting ?? ofKind[0];
}

/** The card that a name means, of a model or an adapter; `default`: the default model with the ability. */
export function cardOf<M extends Card & Pick<ModelInfo, "id" | "root">>(
  models: readonly M[],
  name: string,
  ability: Ability = "generates",
): M | undefined {
  const found = models.find(({ id }) => id === name) ?? models.find(({ root }) => root === name);
  return found ?? (name === DEFAULT_NAME ? defaultModel(models, ability) : undefined);
}
