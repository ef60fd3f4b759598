// Facts of this machine that estimates of models need: accelerators, and the speed of main memory. Each is found once, when it is first
// needed.

import { defaultThreads } from "../../ffi/linux/usable-cores.ts";
import { installedBackends } from "../backends/store.ts";
import { reasonOf } from "../core/reason.ts";
import { measureMachine } from "../measure/machine.ts";
import { cardsOf } from "../models/device-capacity.ts";
import type { MachineFacts } from "../models/hub-fit.ts";
import type { ModelOptions } from "../models/model-files.ts";
import { MACHINE_READ_BYTES, MACHINE_READ_MS } from "./limits.ts";
import { probeHost } from "./system.ts";

type MachineOptions = Pick<ModelOptions, "cacheDir" | "verbosity" | "log">;

/** Nothing is looked for before it is asked for. */
export function machineFacts(options: MachineOptions): MachineFacts {
  let speed: Promise<number | undefined> | undefined;
  let probed: ReturnType<typeof probedCards> | undefined;
  return {
    bytesPerSecond: async () => {
      const found = await (speed ??= measured(options));
      if (found === undefined) speed = undefined; // the next one may do better
      return found;
    },
    cards: () => (probed ??= probedCards(options)),
  };
}

async function measured({ cacheDir, log }: MachineOptions): Promise<number | undefined> {
  try {
    const request = { threads: defaultThreads(), cacheDir, bytes: MACHINE_READ_BYTES };
    const { machine } = await measureMachine(request, AbortSignal.timeout(MACHINE_READ_MS));
    return machine.bytes_per_second;
  } catch (error) {
    log(`the speed of this machine's memory could not be measured: ${reasonOf(error)}`);
    return undefined;
  }
}

/** Without a back end for an accelerator there is nothing to look for. */
async function probedCards(options: MachineOptions) {
  if (installedBackends(options.cacheDir).length === 0) return [];
  const host = await probeHost(options);
  return "failure" in host ? [] : (cardsOf([host]) ?? []);
}
