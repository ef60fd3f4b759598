// Whether the published library of a back end runs on the cards that are here.

import type { NvidiaCards } from "../core/card-drivers.ts";
import type { BackendKind } from "./catalog.ts";

/** Why it does not, and what to do; undefined where it does, or where nothing is known of the cards. */
export function codeProblem(
  { name, code }: Pick<BackendKind, "name" | "code">,
  nvidia: NvidiaCards | undefined,
): string | undefined {
  if (code === undefined || nvidia === undefined || nvidia.cudaVersion >= code.compiledFrom) return undefined;
  const card = nvidia.cards.find(({ capability }) => !code.capabilities.includes(capability));
  if (card === undefined) return undefined;
  const version = (thousands: number): string =>
    `${Math.floor(thousands / 1000)}.${Math.floor((thousands % 1000) / 10)}`;
  return `back end ${name} has no machine code for ${card.name} (compute capability ${(card.capability / 10).toFixed(1)}), and this driver, of CUDA ${version(nvidia.cudaVersion)}, cannot compile it: that takes CUDA ${version(code.compiledFrom)}. Update NVIDIA's driver to ${code.driver} or later, or use: svc backend install vulkan`;
}
