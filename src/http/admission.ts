// Admission: identifies the caller of a request and gives it a place or sheds it, from its head alone, so that a refusal is
// cheap. Admitted requests start in small batches, so that new arrivals are counted, or shed, at once.

import type { Account } from "../core/account.ts";
import type { Caller, Place } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import { FairShare } from "../core/fair-share.ts";
import type { Quotas } from "../core/quota.ts";
import { BEGINNINGS_AT_ONCE, SLOW_ARRIVAL_MS } from "./limits.ts";
import type { ModelKind } from "../core/model-info.ts";
import type { ApiKeys } from "./api-keys.ts";

export interface AdmissionOptions {
  /** Absent: no key is ever needed. */
  readonly keys?: ApiKeys;
  /** Limits of keys; absent: there are none. */
  readonly quotas?: Pick<Quotas, "refusal">;
  /** A client's address: the other end of its connection, or what a trusted proxy says of it. */
  readonly addressOf: (peer: string, headers: Headers) => string;
  /** Requests for models of a kind that may be under way or wait at the same time. */
  readonly placesOf: (kind: ModelKind) => number;
  /** Whether more connections are open than may be. */
  readonly isCrowded: () => boolean;
}

/** Head of a request. */
export interface Arrived {
  readonly headers: Headers;
  /** Address of the other end of its connection. */
  readonly peer: () => string;
  readonly housekeeping: boolean;
  /** The kind of model that it is for; undefined where it runs none. */
  readonly kind: ModelKind | undefined;
}

export interface Admitted {
  readonly caller: Caller;
  /** Why it is not let in. */
  readonly refusal?: ServiceError;
  /** When it may begin; absent: at once. */
  readonly turn?: Promise<void>;
}

export class Admission {
  private readonly options: AdmissionOptions;
  private readonly shares = new Map<ModelKind, Share>();
  private begun = 0; // in this turn of the event loop
  private readonly line: (() => void)[] = [];

  constructor(options: AdmissionOptions) {
    this.options = options;
  }

  /** Decides about a request. One that is let in must release its caller's place. */
  admit({ headers, peer, housekeeping, kind }: Arrived): Admitted {
    const { keys, quotas, addressOf, isCrowded } = this.options;
    const isLocked = keys?.isRequired === true;
    const account = isLocked ? accountOrNone(keys, headers, peer) : undefined;
    const owner = account?.owner;
    const unknown = { client: "", ...(isLocked ? { owner: owner ?? "", ...defined({ account }) } : {}) };
    if (!housekeeping && isCrowded()) return { caller: unknown, refusal: crowded() };
    const isUnauthorized = isLocked && owner === undefined; // rejected later, with 401
    if (kind === undefined || isUnauthorized) return { caller: unknown };
    const caller = { ...unknown, client: owner ?? addressOf(peer(), headers) };
    const beyond = account && quotas?.refusal(account);
    if (beyond !== undefined) return { caller, refusal: beyond };
    const share = this.shareOf(kind);
    const place = share.take(caller.client, account?.weight);
    if (place === undefined) return { caller, refusal: full(share.taken) };
    const turn = this.turn();
    if (turn === undefined) place.begins();
    return {
      caller: { ...caller, place },
      ...(turn === undefined ? {} : { turn: turn.then(() => place.begins()) }),
    };
  }

  private shareOf(kind: ModelKind): Share {
    const found = this.shares.get(kind) ?? new Share(() => this.options.placesOf(kind));
    this.shares.set(kind, found);
    return found;
  }

  private turn(): Promise<void> | undefined {
    if (this.begun === 0) setImmediate(() => this.nextLot());
    if (this.line.length === 0 && this.begun < BEGINNINGS_AT_ONCE) {
      this.begun++;
      return undefined;
    }
    return new Promise((resolve) => this.line.push(resolve));
  }

  private nextLot(): void {
    const lot = this.line.splice(0, BEGINNINGS_AT_ONCE);
    this.begun = lot.length;
    for (const begin of lot) begin();
    if (lot.length > 0) setImmediate(() => this.nextLot());
  }
}

/** The gate refuses those who may not enter. */
function accountOrNone(keys: ApiKeys, headers: Headers, peer: () => string): Account | undefined {
  try {
    return keys.accountOf(headers, peer);
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

/** The requests for one kind of model. */
class Share {
  private readonly places: FairShare;
  /** Those that have begun and not reached a queue, the earliest first: their bodies are read and parsed. */
  private readonly arriving = new Map<Taken, number>();

  constructor(places: () => number) {
    this.places = new FairShare(places);
  }

  get taken(): number {
    return this.places.taken;
  }

  take(client: string, weight?: number): Taken | undefined {
    if (!this.places.take(client, weight)) {
      this.overlookSlow();
      if (!this.places.take(client, weight)) return undefined;
    }
    return new Taken(() => this.places.release(client), this.arriving);
  }

  /** A slow body blocks no other request: its request is counted again when it enters a queue. */
  private overlookSlow(): void {
    const before = performance.now() - SLOW_ARRIVAL_MS;
    for (const [place, sinceMs] of this.arriving) {
      if (sinceMs > before) return;
      place.release();
    }
  }
}

class Taken implements Place {
  private readonly free: () => void;
  private readonly arriving: Map<Taken, number>;
  private isFree = false;

  constructor(free: () => void, arriving: Map<Taken, number>) {
    this.free = free;
    this.arriving = arriving;
  }

  begins(): void {
    if (!this.isFree) this.arriving.set(this, performance.now());
  }

  enteredQueue(): void {
    this.arriving.delete(this);
  }

  release(): void {
    this.arriving.delete(this);
    if (this.isFree) return;
    this.isFree = true;
    this.free();
  }
}

function full(taken: number): ServiceError {
  const message = `${taken} requests are already running or waiting; try again soon`;
  return new ServiceError("queue_full", message, { retryAfterSecs: 1 });
}

function crowded(): ServiceError {
  const message = "too many connections are open (--max-connections); try again soon";
  return new ServiceError("too_many_connections", message, { retryAfterSecs: 1 });
}
