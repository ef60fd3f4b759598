// The optional check of who asks.

import type { Account, Role } from "../../core/account.ts";
import { ServiceError } from "../../core/error.ts";
import { ApiKeys } from "../api-keys.ts";

/** The account of a request. Throws `invalid_api_key` for one without. */
export function checkKey(keys: ApiKeys, headers: Headers, peer: () => string): Account {
  const account = keys.accountOf(headers, peer);
  if (account !== undefined) return account;
  const sent = ApiKeys.sentIn(headers);
  const fault = sent === undefined ? "an API key is required" : "the API key is invalid";
  throw new ServiceError(
    "invalid_api_key",
    `${fault}: send it as authorization: Bearer KEY, or as x-api-key`,
  );
}

/** Throws `permission_denied` for an account of another role than a route asks for. */
export function checkRole(account: Account, role: Role): void {
  if (role === "user" || account.role === "admin") return;
  const message = "this route is for administrators; ask one for a key with the role admin";
  throw new ServiceError("permission_denied", message);
}
