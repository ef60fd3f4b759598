// The table of projector types in docs/models.md: what test/projectors builds of each, and why not of the others.

import { NOT_BUILT, PROJECTOR_TYPES } from "../test/projectors/types.ts";

export function projectorTable(): string {
  const rows = PROJECTOR_TYPES.map(({ type, medium, of, fails }) => {
    const result = fails === undefined ? "answers; refuses other media" : `fails: ${fails}`;
    return `| \`${type}\` | ${medium} | ${of} | ${result} |`;
  });
  const others = Object.entries(NOT_BUILT).map(
    ([why, types]) => `- ${types.map((type) => `\`${type}\``).join(", ")}: ${why}.`,
  );
  return [
    "| Projector | Input | Models | With random weights |",
    "|---|---|---|---|",
    ...rows,
    "",
    "Not tested:",
    "",
    ...others,
  ].join("\n");
}
