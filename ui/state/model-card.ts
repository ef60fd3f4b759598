// Model cards of /v1/models. Pure.

import type { Preset, PresetSource } from "../../src/core/preset.ts";

/** The fields of a card that the page uses. */
export interface ModelCard {
  readonly id: string;
  readonly status?: string | null;
  /** Base model of an adapter. */
  readonly parent?: string | null;
  readonly root?: string | null;
  readonly tools_available?: boolean | null;
  readonly mcp_tools_count?: number | null;
  /** Output of the model; absent on older servers. */
  readonly kind?: ModelKind | null;
  /** Tokens of a conversation; absent until the model is loaded. */
  readonly context_length?: number | null;
  /** Of a text model; absent until it has been loaded once. */
  readonly capabilities?: {
    readonly tools: boolean;
    readonly vision: boolean;
    readonly audio: boolean;
    readonly reasoning: boolean;
    readonly embeddings: boolean;
  };
  /** Whether it stays loaded; absent for models on upstream servers, and on older servers. */
  readonly pinned?: boolean | null;
  readonly quantization?: string | null;
  /** Longest context that it was trained for, tokens. */
  readonly trained_context_length?: number | null;
  /** `none`: probably a base model, which continues a text. */
  readonly chat_template?: string | null;
  /** The most memory that it takes, bytes. */
  readonly memory_bytes?: number | null;
  /** Of its file, bytes. */
  readonly size_bytes?: number | null;
  /** What requests get where they do not say, and whether there are instructions. */
  readonly defaults?: Omit<Preset, "system"> & { readonly system?: boolean };
  /** Whose word each of them is. */
  readonly defaults_from?: Readonly<Record<string, PresetSource>>;
  /** Where its layers are computed; absent on the CPU and on older servers. */
  readonly placement?: string | null;
  /** Input modalities besides text; absent if unknown. */
  readonly modalities?: readonly Modality[] | null;
  /** What files it reads; absent until it has been loaded once, and on older servers. */
  readonly media?: Partial<Readonly<Record<InputModality, MediaFormats>>>;
}

interface MediaFormats {
  readonly formats: readonly string[];
  readonly formats_with_ffmpeg: readonly string[];
  readonly max_pixels?: number;
}

/** Formats of a kind that a model reads, in words; undefined where that is unknown, or it takes none. */
export function formatsOf(card: ModelCard | undefined, modality: InputModality): string | undefined {
  const media = card?.media?.[modality];
  return media === undefined ? undefined : [...media.formats, ...media.formats_with_ffmpeg].join(", ");
}

export type ModelKind = "text" | "image" | "speech";
export type Modality = "image" | "audio";

/** The cards of a kind. A card without kind belongs to every kind. */
export function ofKind(cards: readonly ModelCard[], kind: ModelKind): readonly ModelCard[] {
  return cards.filter((card) => (card.kind ?? kind) === kind);
}

/** The card of a model name; "" is the default model. An adapter without modalities has the card of its base model. */
export function cardOf(cards: readonly ModelCard[], name: string): ModelCard | undefined {
  const card = name === "" ? ofKind(cards, "text")[0] : cards.find(({ id }) => id === name);
  const base = card?.modalities ? undefined : cards.find(({ id }) => id === card?.parent);
  return base ?? card;
}

/** What can be attached. Of a video, models get frames. */
export type InputModality = Modality | "video";

/** Whether a model accepts it; undefined if unknown. */
export function takes(card: ModelCard | undefined, modality: InputModality): boolean | undefined {
  return card?.modalities?.includes(modality === "video" ? "image" : modality);
}

export interface ModelGroup {
  readonly base: ModelCard;
  readonly adapters: readonly ModelCard[];
}

/** Base models with their adapters. An adapter whose base model is not listed is treated as a base model. */
export function grouped(cards: readonly ModelCard[]): readonly ModelGroup[] {
  const ids = new Set(cards.map(({ id }) => id));
  const isBase = ({ parent }: ModelCard): boolean => !parent || !ids.has(parent);
  return cards.filter(isBase).map((base) => ({
    base,
    adapters: cards.filter((card) => card !== base && card.parent === base.id),
  }));
}
