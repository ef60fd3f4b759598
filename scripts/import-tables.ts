// The import table as Markdown, for ARCHITECTURE.md.

import { IMPORT_RULES, type ImportRule, PACKAGE_RULES } from "./imports.ts";

/** Rows `from | may import | remark`; folders with the same rule share a row. */
export function importTable(): string {
  const groups = Map.groupBy(IMPORT_RULES, ({ may, types = [], why = "" }) =>
    JSON.stringify([may, types, why]),
  );
  const rows = [...groups.values()].map((rules) => {
    const [first] = rules;
    const from = rules.map((rule) => code(rule.from)).join(", ");
    return `| ${from} | ${first === undefined ? "" : admitted(first)} | ${first?.why ?? ""} |`;
  });
  return ["| From | May import | Remark |", "|---|---|---|", ...rows].join("\n");
}

function admitted({ may, types = [] }: ImportRule): string {
  const values = may.map(code).join(", ");
  const typesOnly = types.length === 0 ? "" : `types of ${types.map(code).join(", ")}`;
  return [values, typesOnly].filter((text) => text !== "").join("; ") || "no other room";
}

/** `package | rooms`; packages of the same rooms share a row. */
export function packageTable(): string {
  const groups = Map.groupBy(Object.entries(PACKAGE_RULES), ([, places]) => JSON.stringify(places));
  const rows = [...groups.values()].map((entries) => {
    const places = entries[0]?.[1] ?? [];
    return `| ${places.map(code).join(", ")} | ${entries.map(([name]) => `\`${name}\``).join(", ")} |`;
  });
  return ["| Room | Packages |", "|---|---|", ...rows].join("\n");
}

/** `src/agent/` as `agent`. */
function code(place: string): string {
  return `\`${place.replace(/^src\//, "").replace(/\/$/, "")}\``;
}
