// Sampling that the makers of a model recommend: fields `general.sampling.*` of its GGUF file, as llama.cpp's converter writes them
// from generation_config.json, and that file itself.

import { type Field, numberOf } from "./gguf.ts";
import type { Preset } from "./preset.ts";
import { isInRange, SAMPLING_NAMES, samplingOption } from "./sampling.ts";

/** What a GGUF file recommends; nothing where it says nothing usable. */
export function fileSampling(fields: ReadonlyMap<string, Field>): Preset {
  return usable((_, fileKey) => {
    const field = fields.get(`general.sampling.${fileKey}`);
    return field && numberOf(field);
  });
}

/** What the content of a generation_config.json recommends, likewise. */
export function configSampling(config: unknown): Preset {
  if (typeof config !== "object" || config === null) return {};
  const values = new Map<string, unknown>(Object.entries(config));
  return usable((name) => values.get(name));
}

/** Values that svc samples with; what lies outside is ignored, as are all other fields. */
function usable(valueOf: (name: string, fileKey: string) => unknown): Preset {
  const taken = SAMPLING_NAMES.flatMap((name) => {
    const { fileKey } = samplingOption(name);
    const value = fileKey === undefined ? undefined : valueOf(name, fileKey);
    return typeof value === "number" && isInRange(name, value) ? [[name, value] as const] : [];
  });
  return Object.fromEntries(taken);
}
