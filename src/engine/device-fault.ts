// Whether an engine process ended because of a device, and what the next one is started with. Knows nothing of requests.

import { freeMemory } from "../core/free-memory.ts";
import { reasonOf } from "../core/reason.ts";
import { checkMemory } from "./memory-fit.ts";
import type { EngineOptions, FromEngine, ImageOptions, TextOptions } from "./protocol.ts";

type Placed = Extract<FromEngine, { readonly type: "placed" }>;

/** How a process ended. */
export interface Ending {
  /** From host.ts. */
  readonly description: string;
  /** It was killed because it did not answer. */
  readonly hung: boolean;
  /** Why the model could not be loaded, if it said so. */
  readonly error: string | undefined;
  /** An RPC worker is to blame. */
  readonly isRemote: boolean;
}

export class DeviceFaults {
  private readonly asked: EngineOptions;
  private readonly log: (line: string) => void;
  private readonly freeBytes: () => number;
  private current: EngineOptions;
  private placed: Placed | undefined; // of the present process
  /** The device that failed, while the model is on the CPU for that reason. */
  fault: string | undefined;

  constructor(asked: EngineOptions, log: (line: string) => void, freeBytes: () => number = freeMemory) {
    this.asked = asked;
    this.current = asked;
    this.log = log;
    this.freeBytes = freeBytes;
  }

  /** Options of the next process. */
  get options(): EngineOptions {
    return this.current;
  }

  /** The process has decided where the layers go. */
  receive(placed: Placed): void {
    this.placed = placed;
    this.log(placed.summary);
  }

  /**
   * The process has ended without being asked to. True: the next one is for the CPU, because a device is the likely reason and
   * the settings allow it.
   */
  ended(ending: Ending): boolean {
    const devices = this.suspects(ending);
    this.placed = undefined;
    if (devices === undefined) return false;
    this.log(`${endingText(ending)} with layers on ${devices}`);
    const { asked } = this;
    if (asked.kind === "speech" || asked.fallback !== "cpu") return false;
    const onCpu = withoutDevices(asked);
    try {
      checkMemory(onCpu, this.freeBytes());
    } catch (error) {
      this.log(`the model cannot be loaded on the CPU instead: ${reasonOf(error)}`);
      return false;
    }
    this.log("loading the model on the CPU; reload it to use the device again");
    this.current = onCpu;
    this.fault = devices;
    return true;
  }

  /** The devices that may have failed; undefined where none has a part in it. */
  private suspects({ description, hung, isRemote }: Ending): string | undefined {
    if (isRemote || this.current.kind === "speech" || this.current.deviceLayers === 0) return undefined;
    if (description === "signal SIGKILL" && !hung) return undefined; // from outside, as for lack of memory
    if (this.placed !== undefined) return this.placed.devices === "" ? undefined : this.placed.devices;
    const names = this.current.backends?.map(({ name }) => name) ?? [];
    return names.length === 0 ? undefined : `a device of back end ${names.join(" or ")}`;
  }
}

function withoutDevices(asked: TextOptions | ImageOptions): EngineOptions {
  const { backends: _, placement: __, ...rest } = asked;
  if (rest.kind === "image") return { ...rest, deviceLayers: 0 };
  const { rpcEndpoints: ___, ...own } = rest;
  return { ...own, deviceLayers: 0 };
}

function endingText({ description, hung, error }: Ending): string {
  if (error !== undefined) return `loading failed (${error})`;
  return hung ? "the engine process hung" : `the engine process ended (${description})`;
}
