// Tuning on request of a client: one at a time, and none while requests run.

import { ServiceError } from "../core/error.ts";
import type { TuneProfile, TuneReport } from "../core/measure.ts";
import { reasonOf } from "../core/reason.ts";

export interface TuningDeps {
  /** Tunes a model; throws the reason of a failure, which may name files of the server. */
  readonly tune: (id: string, profile: TuneProfile, signal: AbortSignal) => Promise<TuneReport>;
  /** Whether requests run, which would be measured too. */
  readonly isBusy: () => boolean;
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal;
  readonly log: (line: string) => void;
}

export class Tuning {
  private readonly deps: TuningDeps;
  private isRunning = false;

  constructor(deps: TuningDeps) {
    this.deps = deps;
  }

  /** Tunes a model. Throws ServiceError: `tuning_conflict`, `shutting_down`, or `model_unavailable` with the reason in the log. */
  async run(id: string, profile: TuneProfile, client: AbortSignal): Promise<TuneReport> {
    const { tune, isBusy, stopping } = this.deps;
    if (this.isRunning) throw conflict("another tuning is running");
    if (isBusy()) throw conflict("running requests would distort the measurement");
    this.isRunning = true;
    try {
      return await tune(id, profile, AbortSignal.any([client, stopping]));
    } catch (error) {
      throw this.failure(id, error, client);
    } finally {
      this.isRunning = false;
    }
  }

  private failure(id: string, cause: unknown, client: AbortSignal): ServiceError {
    if (cause instanceof ServiceError) return cause;
    if (client.aborted) return new ServiceError("model_unavailable", "the request was cancelled", { cause });
    if (this.deps.stopping.aborted)
      return new ServiceError("shutting_down", "the server is shutting down", { cause });
    // The reason concerns the operator; it may name files of the server.
    this.deps.log(`${id}: tuning failed: ${reasonOf(cause)}`);
    const message = "the model could not be measured; the server's log says why";
    return new ServiceError("model_unavailable", message, { retryAfterSecs: 5, cause });
  }
}

function conflict(why: string): ServiceError {
  return new ServiceError("tuning_conflict", `the model cannot be tuned now: ${why}; try again later`, {
    retryAfterSecs: 5,
  });
}
