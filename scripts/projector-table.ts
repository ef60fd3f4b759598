// The projector types in docs/models.md: how many test/projectors builds of each medium, which fail, and which it leaves out.

import { NOT_BUILT, PROJECTOR_TYPES } from "../test/projectors/types.ts";

export function projectorTable(): string {
  const media = [...new Set(PROJECTOR_TYPES.map(({ medium }) => medium))];
  const counts = media.map(
    (medium) => `${PROJECTOR_TYPES.filter((row) => row.medium === medium).length} types for ${medium}`,
  );
  const failing = PROJECTOR_TYPES.flatMap(({ type, fails }) =>
    fails === undefined ? [] : [`- \`${type}\` fails: ${fails}.`],
  );
  const others = Object.entries(NOT_BUILT).map(
    ([why, types]) => `- not tested: ${types.map((type) => `\`${type}\``).join(", ")}: ${why}.`,
  );
  return [
    `Tested are ${counts.join(" and ")}: all that this release of llama.cpp knows but:`,
    "",
    ...failing,
    ...others,
  ].join("\n");
}
