// What the server says of a model. Pure.

/** A card as the page reads it. */
export interface ModelCard {
  readonly id: string;
  readonly status?: string | null;
  /** The base model of an adapter's card. */
  readonly parent?: string | null;
  readonly root?: string | null;
  readonly tools_available?: boolean | null;
  readonly mcp_tools_count?: number | null;
  /** What it makes; older servers do not say. */
  readonly kind?: ModelKind | null;
  /** What it takes besides text; absent where the server does not say. */
  readonly modalities?: readonly Modality[] | null;
}

export type ModelKind = "text" | "image" | "speech";
export type Modality = "image" | "audio";

/** The cards that a page may choose from. A card that does not say what it is passes everywhere. */
export function ofKind(cards: readonly ModelCard[], kind: ModelKind): readonly ModelCard[] {
  return cards.filter((card) => (card.kind ?? kind) === kind);
}

/** The card behind a name; "" is the default model. An adapter takes what its base model does. */
export function cardOf(cards: readonly ModelCard[], name: string): ModelCard | undefined {
  const card = name === "" ? ofKind(cards, "text")[0] : cards.find(({ id }) => id === name);
  const base = card?.modalities ? undefined : cards.find(({ id }) => id === card?.parent);
  return base ?? card;
}

/** Whether a model sees pictures, or hears recordings. Undefined where nobody knows, but for asking it. */
export function takes(card: ModelCard | undefined, modality: Modality): boolean | undefined {
  return card?.modalities?.includes(modality);
}

export interface ModelGroup {
  readonly base: ModelCard;
  readonly adapters: readonly ModelCard[];
}

/** Each base model with its adapters. An adapter whose base is not listed stands for itself. */
export function grouped(cards: readonly ModelCard[]): readonly ModelGroup[] {
  const ids = new Set(cards.map(({ id }) => id));
  const isBase = ({ parent }: ModelCard): boolean => !parent || !ids.has(parent);
  return cards.filter(isBase).map((base) => ({
    base,
    adapters: cards.filter((card) => card !== base && card.parent === base.id),
  }));
}
