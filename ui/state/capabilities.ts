// Image and speech capabilities of the server: its routes, and the kinds of its models.

import { computed, signal } from "@preact/signals";
import { serverRoutes } from "../api/routes.ts";
import { type ModelCard, type ModelKind, ofKind } from "./model-card.ts";
import { models } from "./models.ts";

const routes = signal<ReadonlySet<string>>(new Set());

/** Loads the routes once. If that fails, only chat is offered. */
export async function loadCapabilities(): Promise<void> {
  try {
    routes.value = await serverRoutes();
  } catch {
    // loading the models fails too and reports the error
  }
}

/** Whether the server has routes for images and for speech; it may still have no model for them. */
export const hasImages = computed(() => routes.value.has("/v1/images/generations"));
export const hasSpeech = computed(() => routes.value.has("/v1/audio/speech"));

/** Models of a kind. */
export function modelsFor(kind: ModelKind): readonly ModelCard[] {
  return ofKind(models.value ?? [], kind);
}

export const canSpeak = computed(() => hasSpeech.value && modelsFor("speech").length > 0);
