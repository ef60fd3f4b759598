// Sampling that the makers of a model recommend: fields `general.sampling.*` of its GGUF file, as llama.cpp's converter writes them
// from generation_config.json, and that file itself.

import { type Field, numberOf } from "./gguf.ts";
import type { Preset } from "./preset.ts";

type Numbers = "temperature" | "top_p" | "top_k" | "min_p" | "repetition_penalty";

/** Values that svc samples with; what lies outside is ignored, as are all other fields. */
const TAKES: Readonly<Record<Numbers, (value: number) => boolean>> = {
  temperature: (value) => value >= 0 && value <= 2,
  top_p: (value) => value > 0 && value <= 1,
  top_k: (value) => Number.isInteger(value) && value >= 0,
  min_p: (value) => value >= 0 && value <= 1,
  repetition_penalty: (value) => value > 0 && value < Infinity,
};

/** Their names in a GGUF file (llama.cpp: gguf-py/gguf/constants.py, Keys.General). */
const FILE_KEYS: Readonly<Record<Numbers, string>> = {
  temperature: "general.sampling.temp",
  top_p: "general.sampling.top_p",
  top_k: "general.sampling.top_k",
  min_p: "general.sampling.min_p",
  repetition_penalty: "general.sampling.penalty_repeat",
};

const NAMES = Object.keys(TAKES) as readonly Numbers[];

/** What a GGUF file recommends; nothing where it says nothing usable. */
export function fileSampling(fields: ReadonlyMap<string, Field>): Preset {
  return usable((name) => {
    const field = fields.get(FILE_KEYS[name]);
    return field && numberOf(field);
  });
}

/** What the content of a generation_config.json recommends, likewise. */
export function configSampling(config: unknown): Preset {
  if (typeof config !== "object" || config === null) return {};
  const values = new Map<string, unknown>(Object.entries(config));
  return usable((name) => values.get(name));
}

function usable(valueOf: (name: Numbers) => unknown): Preset {
  const taken = NAMES.flatMap((name) => {
    const value = valueOf(name);
    return typeof value === "number" && TAKES[name](value) ? [[name, value] as const] : [];
  });
  return Object.fromEntries(taken);
}
