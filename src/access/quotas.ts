// Limits per key: requests and tokens a minute, answers at the same time, tokens a day. All is decided without a pause between
// reading and counting, and all clients of a key together get exactly as much as one. What running work may take is set aside.

import type { Account, AccountLimits } from "../core/account.ts";
import { ServiceError } from "../core/error.ts";
import type { Quotas } from "../core/quota.ts";
import { DEFAULT_ANSWER_TOKENS, OPEN_ANSWER_SHARE, QUOTAS_MAX } from "./limits.ts";
import { Minute } from "./minute.ts";

/** Tokens that were set aside. */
export interface Reservation {
  readonly tokens: number;
  /** The work has ended; its tokens are counted by what it has spent. */
  settle(spentTokens: number): void;
}

/** What is counted of an account. */
interface Counted {
  readonly requests: Minute;
  readonly tokens: Minute;
  running: number;
  reserved: number;
}

export interface QuotaOptions {
  /** Tokens that an owner has spent today, without those of running answers. */
  readonly tokensToday: (owner: string) => number;
  /** Unix time, milliseconds. */
  readonly clock: () => number;
  /** Milliseconds that pass however the clock is set. */
  readonly elapsed: () => number;
}

const DAY_SECS = 86_400;

export class KeyQuotas implements Quotas {
  private readonly options: QuotaOptions;
  private readonly byOwner = new Map<string, Counted>();

  constructor(options: QuotaOptions) {
    this.options = options;
  }

  refusal(account: Account): ServiceError | undefined {
    const { requestsPerMinute: most, streams } = account.limits;
    if (!isLimited(account.limits)) return undefined;
    const { requests, running } = this.of(account);
    const nowMs = this.options.elapsed();
    if (streams !== undefined && running >= streams)
      return refusal(`this key has ${streams} answers at the same time`, 1);
    if (most !== undefined && requests.total(nowMs) >= most)
      return refusal(`this key has ${most} requests a minute`, requests.secondsUntil(most - 1, nowMs));
    return this.shortage(account, 1);
  }

  /** Counts a request and takes one of its account's places; the returned function gives that back. Throws `rate_limit_exceeded`. */
  begin(account: Account): () => void {
    if (!isLimited(account.limits)) return () => undefined;
    const refused = this.refusal(account);
    if (refused !== undefined) throw refused;
    const counted = this.of(account);
    counted.requests.add(1, this.options.elapsed());
    counted.running++;
    let isOver = false;
    return () => {
      if (!isOver) counted.running--;
      isOver = true;
    };
  }

  /** Tokens of all choices of an answer without a bound of its own; Infinity without a limit. Throws `rate_limit_exceeded`. */
  share(account: Account, choices: number): number {
    const left = this.left(account);
    const short = this.shortage(account, choices);
    if (short !== undefined) throw short;
    return Math.min(left, Math.max(DEFAULT_ANSWER_TOKENS * choices, Math.floor(left * OPEN_ANSWER_SHARE)));
  }

  /** Sets tokens aside. Throws `rate_limit_exceeded`. */
  reserve(account: Account, tokens: number): Reservation {
    if (!hasTokenLimit(account.limits)) return { tokens, settle: () => undefined };
    const short = this.shortage(account, tokens);
    if (short !== undefined) throw short;
    const counted = this.of(account);
    counted.reserved += tokens;
    return {
      tokens,
      settle: (spent) => {
        counted.reserved -= tokens;
        counted.tokens.add(spent, this.options.elapsed());
      },
    };
  }

  headers(account: Account, form: "messages" | "openai"): Readonly<Record<string, string>> {
    if (!isLimited(account.limits)) return {};
    const rows = [this.requestsLeft(account), this.tokensLeft(account)];
    const nowMs = this.options.clock();
    return Object.fromEntries(
      rows.flatMap((row) => {
        if (row === undefined) return [];
        const { what, limit, left, resetSecs } = row;
        if (form === "openai")
          return [
            [`x-ratelimit-limit-${what}`, String(limit)],
            [`x-ratelimit-remaining-${what}`, String(left)],
            [`x-ratelimit-reset-${what}`, spanText(resetSecs)],
          ];
        const reset = new Date(Math.ceil(nowMs / 1000 + resetSecs) * 1000)
          .toISOString()
          .replace(/\.000Z$/, "Z");
        const prefix = `anthropic-ratelimit-${what}`;
        return [
          [`${prefix}-limit`, String(limit)],
          [`${prefix}-remaining`, String(left)],
          [`${prefix}-reset`, reset],
        ];
      }),
    );
  }

  private requestsLeft(account: Account) {
    const limit = account.limits.requestsPerMinute;
    if (limit === undefined) return undefined;
    const { requests } = this.of(account);
    const nowMs = this.options.elapsed();
    const left = Math.max(0, limit - requests.total(nowMs));
    return { what: "requests", limit, left, resetSecs: requests.secondsUntil(0, nowMs) };
  }

  /** The limit of which less is left, of a minute or of the day. */
  private tokensLeft(account: Account) {
    const { tokensPerMinute, tokensPerDay } = account.limits;
    const { tokens } = this.of(account);
    const nowMs = this.options.elapsed();
    const rows = [
      { limit: tokensPerMinute, left: this.leftOfMinute(account), resetSecs: tokens.secondsUntil(0, nowMs) },
      { limit: tokensPerDay, left: this.leftOfDay(account), resetSecs: secsToMidnight(this.options.clock()) },
    ].flatMap(({ limit, left, ...row }) =>
      limit === undefined ? [] : [{ what: "tokens", limit, left: Math.max(0, left), ...row }],
    );
    return rows.sort((one, other) => one.left - other.left)[0];
  }

  /** Tokens that a request of this account may take; Infinity without a limit. */
  left(account: Account): number {
    if (!hasTokenLimit(account.limits)) return Infinity;
    return Math.min(this.leftOfMinute(account), this.leftOfDay(account));
  }

  private leftOfMinute(account: Account): number {
    const { tokens, reserved } = this.of(account);
    return (account.limits.tokensPerMinute ?? Infinity) - tokens.total(this.options.elapsed()) - reserved;
  }

  private leftOfDay(account: Account): number {
    const { reserved } = this.of(account);
    return (account.limits.tokensPerDay ?? Infinity) - this.options.tokensToday(account.owner) - reserved;
  }

  /** Why an account does not get that many tokens more. */
  shortage(account: Account, wanted: number): ServiceError | undefined {
    const { tokensPerMinute = Infinity, tokensPerDay = Infinity } = account.limits;
    const nowMs = this.options.elapsed();
    const asked = wanted > 1 ? `, and this request may take ${wanted}` : "";
    if (wanted > this.leftOfDay(account)) {
      const isHopeless = wanted > tokensPerDay ? "; lower max_tokens, or shorten the prompt" : "";
      return refusal(
        `this key has ${tokensPerDay} tokens a day (UTC)${asked}${isHopeless}`,
        secsToMidnight(this.options.clock()),
      );
    }
    if (wanted <= this.leftOfMinute(account)) return undefined;
    const isHopeless = wanted > tokensPerMinute ? "; lower max_tokens, or shorten the prompt" : "";
    const { tokens, reserved } = this.of(account);
    const secs = tokens.secondsUntil(Math.max(0, tokensPerMinute - wanted - reserved), nowMs);
    return refusal(`this key has ${tokensPerMinute} tokens a minute${asked}${isHopeless}`, secs);
  }

  private of({ owner }: Account): Counted {
    const found = this.byOwner.get(owner);
    if (found !== undefined) return found;
    const fresh = { requests: new Minute(), tokens: new Minute(), running: 0, reserved: 0 };
    if (this.byOwner.size >= QUOTAS_MAX) this.forgetIdle();
    this.byOwner.set(owner, fresh);
    return fresh;
  }

  /** People of a proxy come and go. */
  private forgetIdle(): void {
    const nowMs = this.options.elapsed();
    for (const [owner, { requests, tokens, running, reserved }] of this.byOwner)
      if (running + reserved + requests.total(nowMs) + tokens.total(nowMs) === 0) this.byOwner.delete(owner);
  }
}

function isLimited(limits: AccountLimits): boolean {
  return Object.keys(limits).length > 0;
}

function hasTokenLimit({ tokensPerMinute, tokensPerDay }: AccountLimits): boolean {
  return tokensPerMinute !== undefined || tokensPerDay !== undefined;
}

function secsToMidnight(nowMs: number): number {
  return DAY_SECS - ((nowMs / 1000) % DAY_SECS);
}

function refusal(what: string, retryAfterSecs: number): ServiceError {
  const secs = Math.max(1, Math.ceil(retryAfterSecs));
  return new ServiceError("rate_limit_exceeded", `${what}; try again in ${secs} s`, { retryAfterSecs: secs });
}

/** As OpenAI writes a span of time: `1m30s`, `250ms`. */
function spanText(secs: number): string {
  if (secs < 1) return `${Math.ceil(secs * 1000)}ms`;
  const whole = Math.ceil(secs);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  return `${hours > 0 ? `${hours}h` : ""}${hours > 0 || minutes > 0 ? `${minutes}m` : ""}${whole % 60}s`;
}
