// The optional check of API keys.

import { ServiceError } from "../../core/error.ts";
import { ApiKeys } from "../api-keys.ts";

/** Throws `invalid_api_key` for a request without one of the keys. */
export function checkKey(keys: ApiKeys, headers: Headers): void {
  if (keys.ownerOf(headers) !== undefined) return;
  const sent = ApiKeys.sentIn(headers);
  const fault = sent === undefined ? "an API key is required" : "the API key is invalid";
  throw new ServiceError(
    "invalid_api_key",
    `${fault}: send it as authorization: Bearer KEY, or as x-api-key`,
  );
}
