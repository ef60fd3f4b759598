// Default steps and guidance by model family. Turbo and distilled variants need fewer steps and no guidance, which their
// weights do not tell; operators set those.

export interface FamilyDefaults {
  readonly steps: number;
  /** Weight of the prompt (CFG scale); 1: no unconditional pass. */
  readonly guidance: number;
}

/** Stable Diffusion 1, 2 and XL. */
const STABLE_DIFFUSION: FamilyDefaults = { steps: 20, guidance: 7 };

/** By prefix of the library's name of the family; the first match wins. */
const FAMILIES: readonly (readonly [string, FamilyDefaults])[] = [
  ["SDXS", { steps: 1, guidance: 1 }],
  ["SD3", { steps: 28, guidance: 4.5 }],
  ["Flux.2 klein", { steps: 4, guidance: 1 }],
  ["Flux", { steps: 20, guidance: 1 }], // trained without an unconditional pass
  ["Chroma", { steps: 20, guidance: 4 }],
  ["Qwen", { steps: 20, guidance: 2.5 }],
  ["Z-Image", { steps: 8, guidance: 1 }],
  ["Ovis", { steps: 20, guidance: 5 }],
];

/** Defaults of a model of this family. */
export function familyDefaults(family: string): FamilyDefaults {
  return FAMILIES.find(([prefix]) => family.startsWith(prefix))?.[1] ?? STABLE_DIFFUSION;
}
