// The list of served models.

import { signal } from "@preact/signals";
import { messageOf, sendForJson } from "../api/client.ts";
import { type ModelCard, ofKind } from "./model-card.ts";

/** Id of the built-in demo model. */
const DEMO_MODEL = "svc-tiny";

/** Model cards, the default model first. Undefined until loaded. */
export const models = signal<readonly ModelCard[] | undefined>(undefined);
/** Error of the last load, if it failed. */
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

export function hasOnlyDemoModel(cards: readonly ModelCard[] | undefined): boolean {
  const [first, ...others] = ofKind(cards ?? [], "text");
  return first?.id === DEMO_MODEL && others.length === 0;
}
