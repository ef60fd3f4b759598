// Which library for NVIDIA's cards runs on those that are here: the published one, or one of the parts of an own build.

import type { NvidiaCards } from "../core/card-drivers.ts";
import type { BackendKind } from "./catalog.ts";

/** Compute capabilities that the parts of an own build have machine code for (prebuilt/backends/build.sh). */
const CODE_PARTS: readonly number[] = [75, 80, 86, 89, 90, 100, 120];
/** The part that the driver compiles for any card from 7.5 on, and the CUDA version that it needs. */
const PTX = "ptx";
export const PTX_FILE = `libggml-cuda-${PTX}.so`;
/** What the run-time libraries need of the driver, whatever the library has code for. */
const DRIVER_FROM = 13_000;
const CAPABILITY_MIN = 75;

const MARK = Buffer.from("svc back end code ");

/** Which cards an own build is for: `sm90`, `ptx`, `any`; undefined in other libraries. */
export function codeOf(library: Buffer): string | undefined {
  const at = library.indexOf(MARK);
  if (at === -1) return undefined;
  return /^[a-z]+\d*/.exec(library.subarray(at + MARK.length, at + MARK.length + 16).toString("latin1"))?.[0];
}

/** Machine code runs on cards of the same generation that are not older. */
function runsOn(code: number, capability: number): boolean {
  return Math.floor(code / 10) === Math.floor(capability / 10) && code <= capability;
}

/** The file of the part for the cards that are here: machine code where one part is for all of them, else what the driver compiles. */
export function partFile({ cards }: NvidiaCards): string {
  const code = CODE_PARTS.findLast((part) => cards.every(({ capability }) => runsOn(part, capability)));
  return `libggml-cuda-${code === undefined || cards.length === 0 ? PTX : `sm${code}`}.so`;
}

/** Why no library of CUDA 13 runs here, and what to do; undefined where one does, or where nothing is known of the cards. */
export function cudaProblem(nvidia: NvidiaCards | undefined): string | undefined {
  const old = nvidia?.cards.find(({ capability }) => capability < CAPABILITY_MIN);
  if (old !== undefined)
    return `${old.name} (compute capability ${dotted(old.capability)}) is older than CUDA 13 supports; use: svc backend install vulkan`;
  if (nvidia === undefined || nvidia.cudaVersion >= DRIVER_FROM) return undefined;
  return `back end cuda needs a driver of CUDA 13 (580 or later), and this one is of CUDA ${versionOf(nvidia.cudaVersion)}; update NVIDIA's driver, or use: svc backend install vulkan`;
}

/** Why an own build does not run here, and which file does; undefined where it does, or where nothing is known of the cards. */
export function partProblem(code: string, nvidia: NvidiaCards | undefined): string | undefined {
  if (nvidia === undefined || code === "any" || code === PTX) return undefined;
  const capability = Number(code.replace(/^sm/, ""));
  const card = nvidia.cards.find((candidate) => !runsOn(capability, candidate.capability));
  if (card === undefined) return undefined;
  return `this library has machine code for compute capability ${dotted(capability)}, and ${card.name} has ${dotted(card.capability)}; use ${partFile(nvidia)}, or: svc backend install vulkan`;
}

/** CUDA's version as people write it. */
function versionOf(thousands: number): string {
  return `${Math.floor(thousands / 1000)}.${Math.floor((thousands % 1000) / 10)}`;
}

function dotted(capability: number): string {
  return (capability / 10).toFixed(1);
}

/** Why it does not, and what to do; undefined where it does, or where nothing is known of the cards. */
export function codeProblem(
  { name, code }: Pick<BackendKind, "name" | "code">,
  nvidia: NvidiaCards | undefined,
): string | undefined {
  if (code === undefined || nvidia === undefined) return undefined;
  const problem = cudaProblem(nvidia);
  if (problem !== undefined || nvidia.cudaVersion >= code.compiledFrom) return problem;
  const card = nvidia.cards.find(({ capability }) => !code.capabilities.includes(capability));
  if (card === undefined) return undefined;
  return `back end ${name} has no machine code for ${card.name} (compute capability ${dotted(card.capability)}), and this driver, of CUDA ${versionOf(nvidia.cudaVersion)}, cannot compile it: that takes CUDA ${versionOf(code.compiledFrom)}. Update NVIDIA's driver to ${code.driver} or later, or use: svc backend install vulkan`;
}
