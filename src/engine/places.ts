// Queue of model loads: decides which model is loaded next, and which ones are unloaded for it, by number (`max_loaded_models`),
// bytes of each device, and recency. Loads one model at a time per device. Knows neither engines nor files.
// Main memory is what is free plus the private memory of the engines. Two large models that alternate are loaded in turn.

import { ServiceError } from "../core/error.ts";
import { processMemory } from "./process-memory.ts";
import type { EvictionReason } from "../core/telemetry.ts";
import { withAbort } from "../core/with-abort.ts";

/** The main memory of this machine. */
export const HOST = "host";

/** Memory that a model takes: bytes by device. */
export type Claim = ReadonlyMap<string, number>;

/** A model that holds or wants a place. */
export interface Holder {
  /** It has open requests. */
  readonly isBusy: boolean;
  /** It is never unloaded for another model. */
  readonly isPinned: boolean;
  /** When its last request ended, on any clock. */
  readonly usedAt: number;
  /** Private memory of its process, bytes: part of its claim that the system counts as used; 0 where that is unknown. */
  readonly privateBytes: number;
  /** Unloads it for another one, when its requests have ended, and releases its place. */
  evict(reason: EvictionReason): void;
}

export interface PlacesOptions {
  /** Maximum loaded models. Default: any number. */
  readonly max?: number;
  /** Bytes that these models and further ones may take of a device. Default: any number. */
  readonly capacity?: (device: string, holders: Iterable<Holder>) => number;
}

/** What a model wants that is to be loaded. */
export interface Wish {
  /** Asked again while the model waits: the devices may be known by then. */
  readonly claim: () => Claim;
  /** Whether others are unloaded for it; otherwise `take` rejects with NoRoom. */
  readonly mayEvict: () => boolean;
}

/** The claim of a model of which nothing is known. */
export function nothing(): Claim {
  return new Map([[HOST, 0]]);
}

/** The larger claim on each device. */
export function largerClaim(one: Claim, other: Claim): Claim {
  const devices = new Set([...one.keys(), ...other.keys()]);
  return new Map(Array.from(devices, (key) => [key, Math.max(one.get(key) ?? 0, other.get(key) ?? 0)]));
}

/** The same with that much more main memory. */
export function withMain(claim: Claim, bytes: number): Claim {
  return new Map([...claim, [HOST, (claim.get(HOST) ?? 0) + bytes]]);
}

/** Bytes of all devices. */
export function sumOf(claim: Claim | undefined): number | undefined {
  return claim && [...claim.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** The main memory that the process of an engine takes. */
export function measuredClaim(pid: number | undefined): Claim {
  return new Map([[HOST, processMemory(pid)?.resident ?? 0]]);
}

/** There is no room for a model that may not have others unloaded. */
export class NoRoom extends Error {}

interface Waiting extends Pick<Wish, "mayEvict"> {
  readonly holder: Holder;
  readonly claim: Claim;
  readonly turn: PromiseWithResolvers<number>;
}

export class Places {
  readonly max: number;
  private readonly capacity: NonNullable<PlacesOptions["capacity"]>;
  private readonly holders = new Map<Holder, Claim>();
  private readonly loading = new Set<Holder>();
  private readonly unloading = new Set<Holder>();
  private queue: Waiting[] = [];
  private readonly measured = new Map<string, number>(); // capacities, of one `settle`

  constructor({ max = Infinity, capacity = () => Infinity }: PlacesOptions = {}) {
    this.max = max;
    this.capacity = capacity;
  }

  /**
   * Waits for the model's turn to be loaded, and returns the bytes of main memory that are left for it. That may be less than
   * its claim where no other model can be unloaded. `loaded` ends the turn, `release` gives the place back. Rejects with the
   * signal's reason on abort, with NoRoom, or when all other places are pinned; then there is nothing to release.
   */
  async take(holder: Holder, wish: Wish, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const waiting: Waiting = {
      holder,
      mayEvict: wish.mayEvict,
      get claim() {
        return wish.claim();
      },
      turn: Promise.withResolvers(),
    };
    const abort = (): void => {
      this.leave(waiting, signal.reason);
      this.settle();
    };
    this.queue.push(waiting);
    const turn = withAbort(signal, abort, waiting.turn.promise);
    this.settle();
    return turn;
  }

  /** The model is loaded and takes this much. */
  loaded(holder: Holder, claim: Claim): void {
    this.loading.delete(holder);
    if (this.holders.has(holder)) this.holders.set(holder, claim);
    this.settle();
  }

  /** A holder is pinned or no longer: others may have to leave now. */
  reconsider(): void {
    this.settle();
  }

  /** Gives the place back. */
  release(holder: Holder): void {
    this.loading.delete(holder);
    this.unloading.delete(holder);
    if (this.holders.delete(holder)) this.settle();
  }

  /** What a loaded model takes of each device; undefined where it holds no place. */
  claimOf(holder: Holder): Claim | undefined {
    return this.holders.get(holder);
  }

  /** Starts what fits and unloads for what does not, in order. A later model never takes what an earlier one waits for. */
  private settle(): void {
    this.measured.clear();
    const ahead: Claim[] = [];
    for (const waiting of this.queue.slice()) {
      const staying = this.claimsOf(this.staying());
      const hasRoom =
        this.fits(waiting, [...this.holders.values()]) && this.fits(waiting, [...staying, ...ahead]);
      if (hasRoom && !this.isLoadingOn(waiting.claim)) this.start(waiting);
      else if (this.mustWait(waiting, ahead)) ahead.push(waiting.claim);
    }
  }

  /** Whether the model has to wait: it makes others leave, or is started or refused where that does not help. */
  private mustWait(waiting: Waiting, ahead: readonly Claim[]): boolean {
    const staying = this.staying();
    const victims = this.victimsFor(waiting, staying, ahead);
    if (victims === undefined) {
      if (this.loading.size > 0 || this.unloading.size > 0 || ahead.length > 0) return true;
      if (!waiting.mayEvict() && staying.length > 0) this.leave(waiting, new NoRoom());
      else if (staying.length < this.max) this.start(waiting);
      else this.leave(waiting, allPinned(this.max));
      return false;
    }
    if (victims.length > 0 && !waiting.mayEvict()) {
      this.leave(waiting, new NoRoom());
      return false;
    }
    const reason = staying.length + ahead.length >= this.max ? "count" : "memory";
    for (const victim of victims) {
      this.unloading.add(victim);
      victim.evict(reason);
    }
    return true;
  }

  /**
   * Models whose unloading makes room, longest unused first, idle ones before busy ones, and no more than necessary. Undefined
   * where no unloading is enough.
   */
  private victimsFor(
    waiting: Waiting,
    staying: readonly Holder[],
    ahead: readonly Claim[],
  ): readonly Holder[] | undefined {
    const isEnough = (victims: readonly Holder[]): boolean => {
      const left = staying.filter((holder) => !victims.includes(holder));
      return this.fits(waiting, [...this.claimsOf(left), ...ahead]);
    };
    const candidates = staying
      .filter((holder) => !holder.isPinned && !this.loading.has(holder))
      .sort((a, b) => Number(a.isBusy) - Number(b.isBusy) || a.usedAt - b.usedAt);
    const enough = candidates.findIndex((_, count) => isEnough(candidates.slice(0, count)));
    let victims: readonly Holder[] = enough < 0 ? candidates : candidates.slice(0, enough);
    if (!isEnough(victims)) return undefined;
    for (const victim of victims.toReversed()) {
      const others = victims.filter((other) => other !== victim);
      if (isEnough(others)) victims = others;
    }
    return victims;
  }

  /** Whether a model's claim fits beside others. */
  private fits({ claim }: Waiting, others: readonly Claim[]): boolean {
    if (others.length >= this.max) return false;
    return [...claim].every(([device, bytes]) => bytes <= this.left(device, others));
  }

  private left(device: string, others: readonly Claim[]): number {
    const taken = others.reduce((sum, claim) => sum + (claim.get(device) ?? 0), 0);
    const capacity = this.measured.get(device) ?? this.capacity(device, this.holders.keys());
    this.measured.set(device, capacity);
    return capacity - taken;
  }

  private isLoadingOn(claim: Claim): boolean {
    return this.claimsOf([...this.loading]).some((one) => [...claim.keys()].some((key) => one.has(key)));
  }

  /** Holders that are not being unloaded. */
  private staying(): readonly Holder[] {
    return [...this.holders.keys()].filter((holder) => !this.unloading.has(holder));
  }

  private claimsOf(holders: readonly Holder[]): readonly Claim[] {
    return holders.flatMap((holder) => this.holders.get(holder) ?? []);
  }

  private start(waiting: Waiting): void {
    const { holder, claim, turn } = waiting;
    const left = this.left(HOST, [...this.holders.values()]);
    this.queue = this.queue.filter((other) => other !== waiting);
    this.holders.set(holder, claim);
    this.loading.add(holder);
    turn.resolve(left);
  }

  private leave(waiting: Waiting, reason: unknown): void {
    this.queue = this.queue.filter((other) => other !== waiting);
    waiting.turn.reject(reason);
  }
}

function allPinned(max: number): ServiceError {
  const message = `all ${max} loaded models are pinned (pin), and --max-loaded-models allows no further one; unload one of them, or raise --max-loaded-models`;
  return new ServiceError("model_unavailable", message);
}
