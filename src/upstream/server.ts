// One upstream server: its facts, health, load and statistics.

import { SERVER } from "../core/caller.ts";
import { Histogram } from "../core/histogram.ts";
import type { SystemUpstream } from "../core/system.ts";
import { UPSTREAM_BUCKETS, type UpstreamStats } from "../core/telemetry.ts";
import { Affinity } from "./affinity.ts";
import { factsOf, type ServerFacts, UNKNOWN_SERVER } from "./facts.ts";
import { connectionFailure, refusal, type Verdict } from "./failure.ts";
import { CarriedFields } from "./carried.ts";
import { Health, type HealthOptions } from "./health.ts";
import { readError, readJson, send } from "./http.ts";
import { Learned } from "./learned.ts";
import { ERROR_BYTES_MAX, LACKS_MS, PROBE_MS } from "./limits.ts";
import type { UpstreamOptions } from "./options.ts";
import { readModelList, readProperties, readVersion, type WireModelCard } from "./wire.ts";

/** How attempts ended. */
export type Outcome = "answered" | "refused" | "busy" | "failed" | "broken" | "aborted";

export class UpstreamServer {
  readonly options: UpstreamOptions;
  /** Host and port, for people. */
  readonly name: string;
  readonly health: Health;
  readonly affinity = new Affinity();
  readonly learned: Learned;
  /** Fields of calls that go back to the upstreams; of all that run the model. */
  readonly carried: CarriedFields;
  facts: ServerFacts = UNKNOWN_SERVER;
  /** A probe has succeeded since the start. */
  isKnown = false;
  inFlight = 0;
  /** Ended attempts by outcome. */
  readonly outcomes = new Map<Outcome, number>();
  /** Seconds from a request to its first event. */
  readonly firstEvent = new Histogram(UPSTREAM_BUCKETS);

  private readonly log: (line: string) => void;

  constructor(options: UpstreamOptions, health: HealthOptions, carried = new CarriedFields()) {
    this.options = options;
    this.name = new URL(options.url).host;
    this.log = (line) => health.log(`upstream ${this.name}: ${line}`);
    this.health = new Health({ ...health, log: this.log });
    this.learned = new Learned(health.now);
    this.carried = carried;
  }

  /** Notes that it has no such route: requests for it go elsewhere for a while. */
  lacks(path: string): void {
    if (!this.learned.isLacking(path))
      this.log(`it has no route ${path}; no requests for it for ${LACKS_MS / 1000} s`);
    this.learned.lacks(path);
  }

  /** It may be another server than before. */
  forget(): void {
    this.affinity.clear();
    this.learned.restarted();
  }

  get hasRoom(): boolean {
    return this.inFlight < (this.options.maxInFlight ?? Infinity);
  }

  /** A svc that has not loaded the model yet: its card states neither context nor media. */
  get isIncomplete(): boolean {
    const { engine, contextTokens } = this.facts;
    return this.isKnown && engine === "svc" && contextTokens === undefined;
  }

  count(outcome: Outcome): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  stats(): UpstreamStats {
    const { cooldowns, isCooling } = this.health;
    const { name: upstream, outcomes, inFlight } = this;
    return { upstream, outcomes, inFlight, cooldowns, isCooling, firstEvent: this.firstEvent.data() };
  }

  describe(): SystemUpstream {
    const { health, facts, isKnown } = this;
    const { lastFailure } = health;
    return {
      upstream: this.name,
      model: this.options.model,
      engine: isKnown ? facts.engine : null,
      status: health.isCooling ? "cooling" : isKnown ? "healthy" : "unknown",
      in_flight: this.inFlight,
      problem: health.problem ?? null,
      cooldown_left: health.isCooling ? Math.round(health.waitMs / 100) / 10 : null,
      last_error: lastFailure?.problem ?? null,
      last_error_at: lastFailure?.atSecs ?? null,
    };
  }

  /** Reads the model list. The verdict is not taken yet: a probe that a person asks for changes nothing. Never rejects. */
  async probe(): Promise<Verdict> {
    try {
      const signal = AbortSignal.timeout(PROBE_MS);
      const response = await send(this.options, { path: "/models", caller: SERVER, signal });
      if (!response.ok) {
        const body = await readError(response, ERROR_BYTES_MAX);
        // A server without a model list may still answer requests.
        if (response.status === 404 || response.status === 405) return { type: "well" };
        const { verdict } = refusal(response.status, response.headers, body, this.options.key);
        if (verdict.type !== "well") return verdict;
        // A request for a list has nothing that a client could have got wrong.
        return { type: "failed", problem: `status ${response.status} for its model list`, isCertain: true };
      }
      return await this.learn(await readJson(response));
    } catch (thrown) {
      if (thrown instanceof Error && thrown.name === "TimeoutError") {
        const problem = `no answer to a probe within ${PROBE_MS / 1000} s`;
        return { type: "failed", problem, isCertain: !this.isKnown }; // a loaded server may be slow
      }
      const { verdict } = connectionFailure(thrown, true);
      return verdict.type === "failed"
        ? { ...verdict, isCertain: verdict.isCertain || !this.isKnown }
        : verdict;
    }
  }

  private async learn(json: unknown): Promise<Verdict> {
    const list = readModelList(json)?.data;
    if (list === undefined) return { type: "failed", problem: "its model list is not one", isCertain: true };
    const { model } = this.options;
    const card =
      list.find(({ id }) => id === model) ??
      list.find(({ root }) => root === model) ??
      (model === "default" ? list[0] : undefined);
    if (card === undefined && list.length > 0) {
      const others = list
        .slice(0, 5)
        .map(({ id }) => id)
        .join(", ");
      return { type: "failed", problem: `it does not serve "${model}", but ${others}`, isCertain: true };
    }
    if (card !== undefined) this.facts = await this.completed(card);
    this.isKnown = true;
    return { type: "well" };
  }

  /** Facts of a card, and those that the server states beside its model list. */
  private async completed(card: WireModelCard): Promise<ServerFacts> {
    if (card.owned_by === "vllm") return factsOf(card, readVersion(await this.stated("/version"))?.version);
    if (card.owned_by !== "llamacpp") return factsOf(card);
    const { vision, audio } = readProperties(await this.stated("/props"))?.modalities ?? {};
    const modalities = [...(vision ? ["image"] : []), ...(audio ? ["audio"] : [])];
    return factsOf(vision === undefined ? card : { ...card, modalities });
  }

  /** JSON of a path of the server's own; undefined from an old one, or a proxy that hides it. */
  private async stated(path: string): Promise<unknown> {
    try {
      const signal = AbortSignal.timeout(PROBE_MS);
      const response = await send(this.options, { path, root: true, caller: SERVER, signal });
      return response.ok ? await readJson(response) : undefined;
    } catch {
      return undefined;
    }
  }
}
