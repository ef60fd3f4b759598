// The list of projector types in docs/models.md: what test/projectors builds of each, and why not of the others.

import { NOT_BUILT, PROJECTOR_TYPES } from "../test/projectors/types.ts";

export function projectorTable(): string {
  const media = [...new Set(PROJECTOR_TYPES.map(({ medium }) => medium))];
  const lists = media.map((medium) => {
    const types = PROJECTOR_TYPES.filter((row) => row.medium === medium).map(({ type, of, fails }) =>
      fails === undefined ? of : `${of} (\`${type}\` fails: ${fails})`,
    );
    return `- ${medium}: ${types.join(" · ")}`;
  });
  const others = Object.entries(NOT_BUILT).map(
    ([why, types]) => `- not tested: ${types.map((type) => `\`${type}\``).join(", ")}: ${why}.`,
  );
  return [...lists, ...others].join("\n");
}
