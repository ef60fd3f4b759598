// `keep_alive`, the time that a model stays loaded after its last request: schema and conversion.

import { type Static, Type } from "@sinclair/typebox";
import { durationMs } from "../../core/duration.ts";
import { ServiceError } from "../../core/error.ts";
import { TIMER_MS_MAX } from "../../core/limits.ts";
import { orNull } from "../../core/schema-fields.ts";
import { describeValue, isPresent } from "./check.ts";

/** Milliseconds; Infinity: until explicitly unloaded; undefined: the server's setting. */
export type KeepAlive = number | undefined;

export const keepAliveProperties = {
  keep_alive: orNull(
    Type.Union([Type.Number(), Type.String()], {
      description:
        'Time that the model stays loaded after its last request: seconds, or a duration such as "10m"; negative: no limit.',
    }),
  ),
};

const KeepAliveFields = Type.Object(keepAliveProperties);

/** Parses the field. Throws `invalid_request` for an invalid duration. */
export function keepAliveOf(field: number | string | null | undefined): KeepAlive {
  if (!isPresent(field)) return undefined;
  const ms = durationMs(field);
  if (ms !== undefined) return ms;
  const message = `keep_alive must be seconds, or a duration such as "5m" or "1h30m"; got ${describeValue(field)}`;
  throw new ServiceError("invalid_request", message, { param: "keep_alive" });
}

/** The field of a run, whose numbers must be finite: beyond the longest timer there is no limit. */
export function runKeepAlive({ keep_alive: field }: Static<typeof KeepAliveFields>): {
  keepAliveMs?: number;
} {
  const ms = keepAliveOf(field);
  return ms === undefined ? {} : { keepAliveMs: Math.min(ms, TIMER_MS_MAX + 1) };
}
