// The models that the server offers.

import { signal } from "@preact/signals";
import { messageOf, sendForJson } from "../api/client.ts";

/** A card as the page reads it. */
export interface ModelCard {
  readonly id: string;
  /** What it makes; absent: text. */
  readonly kind?: string | null;
  readonly status?: string | null;
  /** The base model of an adapter's card. */
  readonly parent?: string | null;
  readonly root?: string | null;
  readonly tools_available?: boolean | null;
  readonly mcp_tools_count?: number | null;
}

/** Id of the model that comes with svc. */
const TOY = "svc-tiny";

/** The default one comes first. Undefined until the server has answered. */
export const models = signal<readonly ModelCard[] | undefined>(undefined);
/** Why the list is not there. */
export const modelsError = signal<string | undefined>(undefined);

export async function loadModels(): Promise<void> {
  try {
    const { data } = await sendForJson<{ readonly data: readonly ModelCard[] }>("v1/models");
    models.value = data;
    modelsError.value = undefined;
  } catch (error) {
    modelsError.value = messageOf(error);
  }
}

/** Those that one can chat with. */
export function chatModels(cards: readonly ModelCard[]): readonly ModelCard[] {
  return cards.filter(({ kind }) => !kind || kind === "text");
}

export function isToy(cards: readonly ModelCard[] | undefined): boolean {
  const [first, ...others] = chatModels(cards ?? []);
  return first?.id === TOY && others.length === 0;
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
