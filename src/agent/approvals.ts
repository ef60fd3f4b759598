// Actions that wait for a person's word. An action is known from the moment its event is made, so that an answer which
// comes before the run has begun to wait is kept for it.

import { randomBytes } from "node:crypto";
import type { AnswerApproval, Decision } from "../core/agent.ts";
import { currentCaller } from "../core/caller.ts";
import { APPROVAL_WAIT_MS } from "./limits.ts";

/** An action that waits. */
export interface PendingApproval {
  readonly id: string;
  /** The decision, or undefined when none came in time or the signal was aborted. Call it once. */
  decision(signal: AbortSignal): Promise<Decision | undefined>;
  /** Stops knowing the action. Harmless when it is decided. */
  forget(): void;
}

interface Entry {
  /** Whose key the asking request brought; nobody else may answer. Absent where no keys are needed. */
  readonly owner: string | undefined;
  readonly decided: PromiseWithResolvers<Decision | undefined>;
  readonly timer: ReturnType<typeof setTimeout>;
  isAwaited: boolean;
}

const STOPPING: Decision = { approved: false, message: "The server is stopping." };

export class Approvals {
  private readonly waitMs: number;
  private readonly pending = new Map<string, Entry>();
  private isClosed = false;

  /** `waitMs` counts from `open`. */
  constructor(waitMs: number = APPROVAL_WAIT_MS) {
    this.waitMs = waitMs;
  }

  /** Makes an action known. The caller must await its decision or forget it. */
  open(): PendingApproval {
    const id = `appr_${randomBytes(16).toString("hex")}`;
    const decided = Promise.withResolvers<Decision | undefined>();
    const timer = setTimeout(() => this.settle(id, undefined), this.waitMs);
    const entry: Entry = { owner: currentCaller()?.owner, decided, timer, isAwaited: false };
    this.pending.set(id, entry);
    if (this.isClosed) this.settle(id, STOPPING);
    const forget = (): void => void this.settle(id, undefined);
    return {
      id,
      forget,
      decision: async (signal) => {
        entry.isAwaited = true;
        signal.addEventListener("abort", forget, { once: true });
        if (signal.aborted) forget();
        try {
          return await decided.promise;
        } finally {
          signal.removeEventListener("abort", forget);
        }
      },
    };
  }

  /** Denies what waits and whatever comes: nobody should wait for a person while the server stops. */
  close(): void {
    this.isClosed = true;
    for (const id of this.pending.keys()) this.settle(id, STOPPING);
  }

  /** The first answer counts; later ones find nothing, nor do those that bring another key than the request did. */
  readonly answer: AnswerApproval = (id, decision) => {
    if (this.pending.get(id)?.owner !== currentCaller()?.owner) return "not_found";
    const entry = this.settle(id, decision);
    if (entry === undefined) return "not_found";
    return entry.isAwaited ? "resolved" : "queued";
  };

  private settle(id: string, decision: Decision | undefined): Entry | undefined {
    const entry = this.pending.get(id);
    if (entry === undefined) return undefined;
    this.pending.delete(id);
    clearTimeout(entry.timer);
    entry.decided.resolve(decision);
    return entry;
  }
}
