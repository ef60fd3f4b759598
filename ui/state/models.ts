// The models that the server offers.

import { signal } from "@preact/signals";
import { messageOf, sendForJson } from "../api/client.ts";
import { type ModelCard, ofKind } from "./model-card.ts";

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

export function isToy(cards: readonly ModelCard[] | undefined): boolean {
  const [first, ...others] = ofKind(cards ?? [], "text");
  return first?.id === TOY && others.length === 0;
}
