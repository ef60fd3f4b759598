// Prints settings as TOML. For `svc config show`; the example file shares the spelling of values.

import { formatOrigin, type Origin } from "./problem.ts";
import type { Loaded } from "./resolve.ts";
import { isTable } from "./sources.ts";
import { header, join, ROWS, SECTIONS, type Row } from "./table.ts";

/** The settings in force as a TOML file, with a comment on each line that says where the value comes from. */
export function showSettings({ settings, origins }: Pick<Loaded, "settings" | "origins">): string {
  const lines = sectionLines("", "", settings, origins);
  for (const section of SECTIONS.filter(({ path }) => !path.startsWith("models"))) {
    const inner = sectionLines(section.path, section.path, tableAt(settings, section.path), origins);
    if (inner.length > 0) lines.push("", header(section), ...inner);
  }
  settings.models.forEach((model, index) => {
    for (const section of SECTIONS.filter(({ path }) => path.startsWith("models"))) {
      const path = section.path.replace("[]", `[${index}]`);
      const table = section.isList ? model : tableAt(model, section.path.slice("models[].".length));
      const inner = sectionLines(section.path, path, table, origins);
      if (inner.length > 0) lines.push("", header(section), ...inner);
    }
  });
  return `${lines.join("\n")}\n`;
}

/** A value as it stands in a TOML file. */
export function tomlValue(value: unknown): string {
  // A JSON text, number, boolean or list of these is one in TOML too.
  return JSON.stringify(value) ?? "";
}

/** A secret is told by where it comes from alone: `…`, `literal:…`. */
function visible(row: Row, value: unknown): unknown {
  const word = row.secretAfter;
  if (word === undefined) return value;
  if (typeof value !== "string") return "(not shown)";
  return value.startsWith(word) ? `${word}…` : value;
}

function sectionLines(
  section: string,
  path: string,
  values: object,
  origins: ReadonlyMap<string, Origin>,
): string[] {
  const isShown = (row: Row): boolean => row.section === section && row.status === "available";
  return ROWS.filter(isShown).flatMap((row) => {
    const value: unknown = Object.entries(values).find(([key]) => key === row.key)?.[1];
    if (value === undefined) return [];
    const origin = origins.get(join(path, row.key)) ?? { type: "default" };
    return [`${row.key} = ${tomlValue(visible(row, value))}  # ${formatOrigin(origin)}`];
  });
}

function tableAt(values: object, key: string): object {
  const inner: unknown = Object.entries(values).find(([name]) => name === key)?.[1];
  return isTable(inner) ? inner : {};
}
