// The core that the server, the terminal chat and the measurements share: models with their adapters. Knows no conversation.

import type { Models } from "../engine/models.ts";
import type { AdaptedModels } from "../lora/adapted-models.ts";
import { createAdapters, residentAdapters } from "./adapters.ts";
import type { ModelOptions } from "../models/model-files.ts";
import { createModels, type ModelParts } from "./models.ts";

/** The configured models; none is loaded before it is needed. */
export interface Core {
  readonly models: Models;
  readonly adapters: AdaptedModels;
  /** Ends all engines. */
  stop(): Promise<void>;
}

/** Creates the models of the settings. */
export function openCore(options: ModelOptions, parts: Omit<ModelParts, "resident"> = {}): Core {
  const resident = residentAdapters(options);
  const models = createModels(options, { ...parts, resident });
  return { models, adapters: createAdapters(models, resident, options), stop: () => models.stop() };
}
