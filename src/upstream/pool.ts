// The upstreams of one model: chooses one for each attempt, queues attempts while all are full, probes them.

import { SERVER } from "../core/caller.ts";
import { ServiceError } from "../core/error.ts";
import { FairShare } from "../core/fair-share.ts";
import type { RunRequest } from "../core/run.ts";
import { DEFAULT_SAMPLING } from "../core/sampling.ts";
import type { PoolStats } from "../core/telemetry.ts";
import { withAbort } from "../core/with-abort.ts";
import { attempt } from "./attempt.ts";
import { CarriedFields } from "./carried.ts";
import type { Verdict } from "./failure.ts";
import { PROBE_EVERY_MS, RECHECK_MS } from "./limits.ts";
import type { PoolOptions } from "./options.ts";
import { choose } from "./routing.ts";
import { type Outcome, UpstreamServer } from "./server.ts";

/** Requirements of an attempt. */
export interface Wanted {
  /** Who asks: a key, else an address. */
  readonly client: string;
  readonly blocks: readonly number[];
  readonly key: number;
  /** Whether the upstream can honour the request. */
  readonly accepts: (server: UpstreamServer) => boolean;
  /** Upstreams that have failed this request. */
  readonly tried: ReadonlySet<UpstreamServer>;
}

/** An attempt's right to an upstream. */
export interface Lease {
  readonly server: UpstreamServer;
  /** Ends it; `verdict` is absent where the attempt says nothing of the upstream. Only the first call counts. */
  release(outcome: Outcome, verdict?: Verdict): void;
}

interface Waiter {
  readonly wanted: Wanted;
  readonly lease: PromiseWithResolvers<Lease>;
}

/** Numbers of a pool, since the start. */
interface PoolCounts {
  retries: number;
  fallbacks: number;
  /** Blocks of requests routed, and those of them that their upstream had computed. */
  blocks: number;
  blocksFound: number;
}

export class Pool {
  readonly servers: readonly UpstreamServer[];
  readonly counts: PoolCounts = { retries: 0, fallbacks: 0, blocks: 0, blocksFound: 0 };
  private readonly options: PoolOptions;
  private readonly places: FairShare;
  private readonly waiters: Waiter[] = [];
  private turn = 0;
  private completedMs = -Infinity;
  private probing: ReturnType<typeof setInterval> | undefined;
  private wakeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: PoolOptions) {
    this.options = options;
    const { now = () => performance.now(), log, routing, upstreams, connections } = options;
    const health = { cooldownMs: routing.cooldownMs, now, log };
    const carried = new CarriedFields();
    this.servers = upstreams.map((upstream) => new UpstreamServer(upstream, health, carried));
    this.places = new FairShare(() => routing.queueMax);
    connections.onFree(() => this.wake());
  }

  get waiting(): number {
    return this.waiters.length;
  }

  get inFlight(): number {
    return this.servers.reduce((sum, { inFlight }) => sum + inFlight, 0);
  }

  /** Whether any upstream is available. */
  get isUsable(): boolean {
    return this.servers.some(({ health, isKnown }) => isKnown && !health.isCooling);
  }

  /** Numbers for the metrics. */
  stats(): PoolStats {
    const { retries, fallbacks, blocks, blocksFound } = this.counts;
    return {
      model: this.options.name,
      upstreams: this.servers.map((server) => server.stats()),
      waiting: this.waiting,
      retries,
      fallbacks,
      prefixBlocks: blocks,
      prefixHits: blocksFound,
    };
  }

  /** Probes all upstreams at once and then again and again. Resolves after the first round. */
  async start(): Promise<void> {
    this.probing ??= setInterval(() => void this.probe(), PROBE_EVERY_MS);
    this.probing.unref();
    await this.probe();
  }

  /** Asks again for facts that an upstream could not state before, at most every RECHECK_MS. */
  async complete(): Promise<void> {
    const now = performance.now();
    const incomplete = this.servers.filter((server) => server.isIncomplete);
    if (incomplete.length === 0 || now - this.completedMs < RECHECK_MS) return;
    this.completedMs = now;
    await Promise.all(incomplete.map((server) => this.probeOne(server)));
  }

  stop(): void {
    clearInterval(this.probing);
    clearTimeout(this.wakeTimer);
    for (const { lease } of this.waiters.splice(0))
      lease.reject(
        new ServiceError("shutting_down", "the server was stopped before this request was finished"),
      );
  }

  /** An upstream for an attempt; waits while all that could serve it are full. Throws ServiceError or the signal's reason. */
  async acquire(wanted: Wanted, signal: AbortSignal): Promise<Lease> {
    signal.throwIfAborted();
    const found = this.tryTake(wanted);
    if (found instanceof ServiceError) throw found;
    if (found !== undefined) return found;
    const { client } = wanted;
    this.places.mustTake(client);
    const waiter: Waiter = { wanted, lease: Promise.withResolvers() };
    this.waiters.push(waiter);
    this.wakeLater();
    const abort = (): void => {
      const index = this.waiters.indexOf(waiter);
      if (index < 0) return;
      this.waiters.splice(index, 1);
      waiter.lease.reject(signal.reason);
    };
    try {
      return await withAbort(signal, abort, waiter.lease.promise);
    } finally {
      this.places.release(client);
    }
  }

  /** A lease, undefined if the request must wait, or the error if waiting is useless. */
  private tryTake(wanted: Wanted): Lease | ServiceError | undefined {
    const able = this.servers.filter((server) => wanted.accepts(server));
    const untried = able.filter((server) => !wanted.tried.has(server) && isUp(server));
    const eligible = untried.length > 0 ? untried : able.filter(isUp);
    if (eligible.length === 0) return noneLeft(able);
    if (this.options.connections.isFull) return undefined;
    const candidates = eligible.map((server) => ({
      server,
      name: server.options.url,
      weight: server.options.weight,
      inFlight: server.inFlight,
      hasRoom: server.hasRoom && server.health.isAvailable,
      depth: server.affinity.depth(wanted.blocks),
    }));
    const { policy } = this.options.routing;
    const chosen = choose(candidates, { policy, key: wanted.key, turn: this.turn });
    if (chosen === undefined) return undefined;
    this.turn++;
    this.counts.blocks += wanted.blocks.length;
    this.counts.blocksFound += chosen.depth;
    return this.lease(chosen.server, wanted.blocks);
  }

  private lease(server: UpstreamServer, blocks: readonly number[]): Lease {
    const { connections } = this.options;
    server.inFlight++;
    server.health.begin();
    server.affinity.add(blocks);
    connections.take();
    let isReleased = false;
    return {
      server,
      release: (outcome, verdict) => {
        if (isReleased) return;
        isReleased = true;
        server.inFlight--;
        server.count(outcome);
        if (verdict === undefined) server.health.end();
        else server.health.take(verdict);
        connections.release(); // wakes the waiters of all pools
      },
    };
  }

  private wake(): void {
    for (const waiter of this.waiters.slice()) {
      const found = this.tryTake(waiter.wanted);
      if (found === undefined) continue;
      this.waiters.splice(this.waiters.indexOf(waiter), 1);
      if (found instanceof ServiceError) waiter.lease.reject(found);
      else waiter.lease.resolve(found);
    }
    this.wakeLater();
  }

  /** Waiters also go on when an upstream's pause ends. */
  private wakeLater(): void {
    clearTimeout(this.wakeTimer);
    if (this.waiters.length === 0) return;
    const waits = this.servers.map(({ health }) => health.waitMs).filter((ms) => ms > 0);
    if (waits.length > 0) this.wakeTimer = setTimeout(() => this.wake(), Math.min(...waits) + 1);
  }

  private async probe(): Promise<void> {
    await Promise.all(this.servers.map((server) => this.probeOne(server)));
    this.wake();
  }

  /** One that is cooling is asked again when its time has come; a probe is its trial. */
  private async probeOne(server: UpstreamServer): Promise<void> {
    const { health } = server;
    if (health.isCooling && !health.isAvailable) return;
    const wasDown = health.isCooling || !server.isKnown;
    health.begin();
    const verdict = await server.probe();
    if (wasDown && verdict.type === "well") {
      server.forget();
      if (server.options.probe === true) return this.askOneToken(server);
    }
    health.take(verdict);
  }

  /** The attempt itself takes the verdict. */
  private async askOneToken(server: UpstreamServer): Promise<void> {
    const { firstTokenMs } = this.options.routing;
    const options = {
      request: ONE_TOKEN,
      caller: SERVER,
      firstTokenMs,
      silenceMs: firstTokenMs,
      startedMs: performance.now(),
      isProbe: true,
    } as const;
    for await (const event of attempt(this.lease(server, []), options, new AbortController().signal))
      if (event.type === "error") return;
  }
}

/** The request of a probe that was asked for. */
const ONE_TOKEN: RunRequest = {
  model: "",
  prompt: {
    type: "chat",
    messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
    tools: [],
    toolChoice: { type: "auto" },
    thinking: { enabled: true, unsaid: true },
  },
  sampling: DEFAULT_SAMPLING,
  maxTokens: 1,
  stop: [],
  choices: 1,
  truncate: false,
};

/** It is well, or its trial is due. */
function isUp({ health }: UpstreamServer): boolean {
  return health.isAvailable || health.isBusy;
}

function noneLeft(able: readonly UpstreamServer[]): ServiceError {
  const waitMs = Math.min(...able.map(({ health }) => health.waitMs));
  const retryAfterSecs = Math.max(1, Math.ceil(Number.isFinite(waitMs) ? waitMs / 1000 : 1));
  const message = "none of the model's upstream servers can be used at present; try again later";
  return new ServiceError("model_unavailable", message, { retryAfterSecs });
}
