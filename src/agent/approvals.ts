// Actions that wait for a user's approval. Owns their ids, timeouts and owners. An action is registered before its event is
// sent, so a decision that arrives before the run starts to wait is kept.
// In memory: a restart ends the runs that wait, too. A request that does not stream cannot ask, so its actions are denied with a reason.

import { randomBytes } from "node:crypto";
import type { AnswerApproval, Decision } from "../core/agent.ts";
import type { Caller } from "../core/caller.ts";
import { withAbort } from "../core/with-abort.ts";
import { APPROVAL_WAIT_MS } from "./limits.ts";

/** A registered action. */
export interface PendingApproval {
  readonly id: string;
  /** The decision, or undefined after a timeout or abort. Call it once. */
  decision(signal: AbortSignal): Promise<Decision | undefined>;
  /** Removes the action. No-op once it is decided. */
  forget(): void;
}

interface Entry {
  /** The API key's owner of the request; only the same owner may decide. Absent if no keys are required. */
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

  /** Registers an action of a caller's run. The code that opens it must await its decision or forget it. */
  open({ owner }: Caller): PendingApproval {
    const id = `appr_${randomBytes(16).toString("hex")}`;
    const decided = Promise.withResolvers<Decision | undefined>();
    const timer = setTimeout(() => this.settle(id, undefined), this.waitMs);
    const entry: Entry = { owner, decided, timer, isAwaited: false };
    this.pending.set(id, entry);
    if (this.isClosed) this.settle(id, STOPPING);
    const forget = (): void => void this.settle(id, undefined);
    return {
      id,
      forget,
      decision: async (signal) => {
        entry.isAwaited = true;
        if (signal.aborted) forget();
        return withAbort(signal, forget, decided.promise);
      },
    };
  }

  /** Denies all pending and future actions, so that a stopping server waits for no user. */
  close(): void {
    this.isClosed = true;
    for (const id of this.pending.keys()) this.settle(id, STOPPING);
  }

  /** The first decision counts; later ones and those with another API key get "not_found". */
  readonly answer: AnswerApproval = (id, decision, { owner }) => {
    if (this.pending.get(id)?.owner !== owner) return "not_found";
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
