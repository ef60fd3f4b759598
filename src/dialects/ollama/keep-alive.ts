// Parses `keep_alive`, the time that a model stays loaded after its last request.

import { assert } from "../../core/assert.ts";
import { ServiceError } from "../../core/error.ts";
import { isPresent, describeValue } from "../shared/check.ts";

/** Milliseconds; Infinity: until explicitly unloaded; undefined: the server's setting. */
export type KeepAlive = number | undefined;

/** Units of Go durations, in milliseconds. */
const UNITS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6,
};
const PART = /(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)/g;
const DURATION = new RegExp(`^[+-]?(?:(?:${PART.source})+|0+)$`);

/** Parses the field. Throws `invalid_request` for an invalid duration. */
export function keepAliveOf(field: number | string | null | undefined): KeepAlive {
  if (!isPresent(field)) return undefined;
  const seconds = typeof field === "number" ? field : Number(field);
  if (field !== "" && Number.isFinite(seconds)) return seconds < 0 ? Infinity : seconds * 1000;
  const text = String(field);
  if (!DURATION.test(text)) {
    const message = `keep_alive must be seconds, or a duration such as "5m" or "1h30m"; got ${describeValue(field)}`;
    throw new ServiceError("invalid_request", message, { param: "keep_alive" });
  }
  if (text.startsWith("-")) return Infinity;
  let ms = 0;
  for (const [, count, unit = ""] of text.matchAll(PART)) {
    const unitMs = UNITS[unit];
    assert(unitMs !== undefined, "every unit of the pattern has a length");
    ms += Number(count) * unitMs;
  }
  return ms;
}
