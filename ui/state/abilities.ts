// What this server offers besides chatting: by its routes, and by what its models make.

import { computed, signal } from "@preact/signals";
import { serverRoutes } from "../api/routes.ts";
import { type ModelCard, type ModelKind, ofKind } from "./model-card.ts";
import { models } from "./models.ts";

const routes = signal<ReadonlySet<string>>(new Set());

/** Asks the server once; without an answer nothing more is offered. */
export async function loadAbilities(): Promise<void> {
  try {
    routes.value = await serverRoutes();
  } catch {
    // the list of models tells of trouble
  }
}

/** Whether the server has a way to draw, and to speak; there may be no model for it. */
export const hasImages = computed(() => routes.value.has("/v1/images/generations"));
export const hasSpeech = computed(() => routes.value.has("/v1/audio/speech"));

/** Models that make something of a kind. */
export function modelsFor(kind: ModelKind): readonly ModelCard[] {
  return ofKind(models.value ?? [], kind);
}

export const canSpeak = computed(() => hasSpeech.value && modelsFor("speech").length > 0);
