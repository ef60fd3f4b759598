// Usage per key, model and day, added up with each answer and kept in the State: with `state = "sqlite:…"` nothing of a finished
// answer is lost when the process is killed.

import type { Account } from "../core/account.ts";
import { SERVER } from "../core/caller.ts";
import { ServiceError } from "../core/error.ts";
import type { OwnedState, Records } from "../core/state.ts";
import { NOTHING_SPENT, type ReadUsage, type Spent, type UsageRow, type UsageSum } from "../core/usage.ts";
import { USAGE_LIFE_MS, USAGE_ROWS_MAX } from "./limits.ts";

/** As it is kept. */
interface KeptRow extends UsageRow {
  readonly owner: string;
}

export class UsageBook {
  private readonly records: Records<KeptRow>;
  private readonly clock: () => number;
  private readonly rows = new Map<string, KeptRow>();
  private readonly sums = new Map<string, UsageSum>();
  private readonly today = new Map<string, number>(); // tokens by owner
  private day: string;

  constructor(state: OwnedState, clock: () => number = Date.now) {
    this.clock = clock;
    const life = { type: "fixed", ms: USAGE_LIFE_MS } as const;
    this.records = state.records<KeptRow>("usage", { capacity: USAGE_ROWS_MAX, life, isQuick: true })(SERVER);
    this.day = dayOf(clock());
    for (const row of this.records.list()) this.rows.set(idOf(row), row);
    this.countToday();
  }

  /** Adds what a piece of work of an account has taken of a model; `requests`: those that it stands for. */
  add(account: Account | undefined, model: string, requests: number, spent: Spent): void {
    const day = this.turnDay();
    const { owner = "", name: key = "" } = account ?? {};
    const id = idOf({ day, owner, model });
    const row: KeptRow = {
      ...added(this.rows.get(id) ?? { requests: 0, ...NOTHING_SPENT }, requests, spent),
      day,
      owner,
      key,
      model,
    };
    this.rows.set(id, row);
    this.today.set(owner, (this.today.get(owner) ?? 0) + spent.promptTokens + spent.completionTokens);
    const sumId = `${key}\n${model}`;
    this.sums.set(sumId, {
      ...added(this.sums.get(sumId) ?? { requests: 0, ...NOTHING_SPENT }, requests, spent),
      key,
      model,
    });
    this.keep(id, row);
  }

  /** An answer is an answer also where it cannot be counted on disk; the next one of its row brings the sum. */
  private keep(id: string, row: KeptRow): void {
    try {
      this.records.put(id, row);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
    }
  }

  /** Tokens that an owner has taken today. */
  tokensToday(owner: string): number {
    this.turnDay();
    return this.today.get(owner) ?? 0;
  }

  /** Sums since the start of the process. */
  sinceStart(): Iterable<UsageSum> {
    return this.sums.values();
  }

  /** The rows that a caller may see, the oldest day first. */
  readonly read: ReadUsage = ({ account }, { from = "", to = "9999", key, model }) => {
    const isOwn = (row: KeptRow): boolean =>
      account === undefined || account.role === "admin" || row.owner === account.owner;
    return [...this.rows.values()]
      .filter((row) => {
        if (!isOwn(row) || row.day < from || row.day > to) return false;
        return (key === undefined || row.key === key) && (model === undefined || row.model === model);
      })
      .map(({ owner: _owner, ...row }) => row)
      .sort((one, other) => one.day.localeCompare(other.day) || one.key.localeCompare(other.key));
  };

  private turnDay(): string {
    const day = dayOf(this.clock());
    if (day === this.day) return day;
    this.day = day;
    this.countToday();
    this.forgetOld();
    return day;
  }

  private countToday(): void {
    this.today.clear();
    for (const { day, owner, promptTokens, completionTokens } of this.rows.values())
      if (day === this.day)
        this.today.set(owner, (this.today.get(owner) ?? 0) + promptTokens + completionTokens);
  }

  private forgetOld(): void {
    const first = dayOf(this.clock() - USAGE_LIFE_MS);
    for (const [id, { day }] of this.rows) if (day < first) this.rows.delete(id);
  }
}

function added(before: Spent & { readonly requests: number }, requests: number, spent: Spent) {
  return {
    requests: before.requests + requests,
    promptTokens: before.promptTokens + spent.promptTokens,
    cachedTokens: before.cachedTokens + spent.cachedTokens,
    completionTokens: before.completionTokens + spent.completionTokens,
    reasoningTokens: before.reasoningTokens + spent.reasoningTokens,
    toolCalls: before.toolCalls + spent.toolCalls,
    seconds: before.seconds + spent.seconds,
  };
}

function idOf({ day, owner, model }: Pick<KeptRow, "day" | "owner" | "model">): string {
  return `${day} ${owner} ${model}`;
}

function dayOf(unixMs: number): string {
  return new Date(unixMs).toISOString().slice(0, 10);
}
