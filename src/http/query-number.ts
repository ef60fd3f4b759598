// Whole numbers in the query of an address.

import { invalidField } from "../core/error.ts";

/** The number of a parameter; undefined without it. Throws `invalid_request` beyond its range. */
export function numberIn(
  query: URLSearchParams,
  param: string,
  { min, max = Number.MAX_SAFE_INTEGER }: { readonly min: number; readonly max?: number },
): number | undefined {
  const text = query.get(param) ?? "";
  if (text === "") return undefined;
  const number = /^\d+$/.test(text) ? Number(text) : -1;
  if (number >= min && number <= max) return number;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw invalidField(param, `must be an integer ${range}`);
}
