// Drivers of graphics cards that this machine has loaded, by the files that they make, and the back ends that suit them.

import { existsSync } from "node:fs";
import { join } from "node:path";

export interface CardDriver {
  readonly maker: string;
  /** The back end for it, as `svc backend` names it. */
  readonly backend: string;
  /** It is for cards; integrated graphics, too, have the others. */
  readonly isForCards: boolean;
}

/** NVIDIA's cards, as its driver describes them. */
export interface NvidiaCards {
  /** Of the driver: 13000 for CUDA 13.0. */
  readonly cudaVersion: number;
  /** `capability`: compute capability, 90 for 9.0. */
  readonly cards: readonly { readonly name: string; readonly capability: number }[];
}

/** Where the system shows its drivers. Tests name other folders. */
interface SystemFolders {
  readonly proc: string;
  readonly dev: string;
  readonly sys: string;
}

const LINUX: SystemFolders = { proc: "/proc", dev: "/dev", sys: "/sys" };

/** The drivers that are loaded, those of cards first. */
export function loadedDrivers({ proc, dev, sys } = LINUX): readonly CardDriver[] {
  const drivers = [
    { maker: "NVIDIA", backend: "cuda", isForCards: true, path: join(proc, "driver/nvidia/version") },
    { maker: "AMD", backend: "vulkan", isForCards: true, path: join(dev, "kfd") },
    { maker: "Intel", backend: "vulkan", isForCards: true, path: join(sys, "module/xe") },
    { maker: "Intel", backend: "vulkan", isForCards: false, path: join(sys, "module/i915") },
  ];
  return drivers
    .filter(({ path }) => existsSync(path))
    .map(({ maker, backend, isForCards }) => ({ maker, backend, isForCards }));
}
