// Merge rule of the sandbox mode: an environment variable must not override a file or flag that enables or disables
// confinement.

import { formatOrigin } from "./problem.ts";
import type { RawValue } from "./sources.ts";
import { rowAt } from "./table.ts";

const PATH = "sandbox.mode";

interface Judged {
  readonly values: readonly RawValue[];
  readonly notices: readonly string[];
}

/** Leaves the mode out of what the environment says where `others` say more than `auto`, or where it is no mode. */
export function judgeSandboxMode(environment: readonly RawValue[], others: readonly RawValue[]): Judged {
  const given = environment.find(({ path }) => path === PATH);
  if (given === undefined) return { values: environment, notices: [] };
  const values = environment.filter((value) => value !== given);
  const ignored = `${formatOrigin(given.origin)} = ${String(given.value)} was ignored`;

  const modes = rowAt(PATH)?.values ?? [];
  if (!modes.includes(String(given.value))) {
    return { values, notices: [`${ignored}: the sandbox's mode is one of ${modes.join(", ")}.`] };
  }
  const stronger = others.findLast(({ path }) => path === PATH);
  if (stronger === undefined || stronger.value === "auto") return { values: environment, notices: [] };
  const where = formatOrigin(stronger.origin);
  return { values, notices: [`${ignored}: ${where} says ${PATH} = ${String(stronger.value)}.`] };
}
