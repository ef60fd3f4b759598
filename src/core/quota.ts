// What the HTTP layer knows of limits per key. Their counts are in src/access.

import type { Account } from "./account.ts";
import { ServiceError } from "./error.ts";

export interface Quotas {
  /** Why a request to a model would be refused now; nothing is counted. */
  refusal(account: Account): ServiceError | undefined;
  /** Limits and what is left of them now, as clients of a dialect read them; none where an account has no limits. */
  headers(account: Account, form: "messages" | "openai"): Readonly<Record<string, string>>;
}

/** Throws `rate_limit_exceeded` where texts have more tokens than their key has left. */
export function refuseTokens(tokens: number, tokensMax = Infinity): void {
  if (tokens <= tokensMax) return;
  const message = `the request has ${tokens} tokens, and its key ${tokensMax} left; send fewer or shorter texts, or try again later`;
  throw new ServiceError("rate_limit_exceeded", message);
}
