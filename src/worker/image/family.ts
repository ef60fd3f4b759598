// What suits the families of image models where the operator says nothing. A model may differ from its family: turbo and
// distilled variants need fewer steps and no guidance, which their weights do not tell.

/** How a picture is drawn. */
export interface Manner {
  readonly steps: number;
  /** How strongly the text counts; 1: no second pass without it. */
  readonly guidance: number;
}

/** As for Stable Diffusion 1, 2 and XL. */
const USUAL: Manner = { steps: 20, guidance: 7 };

/** By how the library's name of the family begins; the first that fits holds. */
const MANNERS: readonly (readonly [string, Manner])[] = [
  ["SDXS", { steps: 1, guidance: 1 }],
  ["SD3", { steps: 28, guidance: 4.5 }],
  ["Flux.2 klein", { steps: 4, guidance: 1 }],
  ["Flux", { steps: 20, guidance: 1 }], // trained to need no second pass
  ["Chroma", { steps: 20, guidance: 4 }],
  ["Qwen", { steps: 20, guidance: 2.5 }],
  ["Z-Image", { steps: 8, guidance: 1 }],
  ["Ovis", { steps: 20, guidance: 5 }],
];

/** How models of this family draw unless the operator says otherwise. */
export function mannerOf(family: string): Manner {
  return MANNERS.find(([start]) => family.startsWith(start))?.[1] ?? USUAL;
}
