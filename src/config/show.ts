// Prints settings as TOML. For `svc config show`; the example file shares the spelling of values.

import { isObject } from "../core/json.ts";
import { formatOrigin, type Origin } from "./problem.ts";
import type { Loaded } from "./resolve.ts";
import { header, join, ROWS, type Row, type Section, SECTIONS } from "./table.ts";

/** The settings in force as a TOML file, with a comment on each line that says where the value comes from. */
export function showSettings({ settings, origins }: Pick<Loaded, "settings" | "origins">): string {
  const lines = sectionLines("", "", settings, origins);
  for (const section of SECTIONS.filter(({ path }) => !path.startsWith("models"))) {
    const inner = sectionLines(section.path, section.path, tableAt(settings, section.path), origins);
    if (inner.length > 0) lines.push("", header(section), ...inner);
  }
  settings.models.forEach((model, index) => {
    for (const section of SECTIONS.filter(({ path }) => path.startsWith("models"))) {
      for (const { path, table } of tablesOf(section, model, index)) {
        const inner = sectionLines(section.path, path, table, origins);
        if (inner.length > 0) lines.push("", header(section), ...inner);
      }
    }
  });
  return `${lines.join("\n")}\n`;
}

/** The tables of a section in one entry of [[models]], with their paths. */
function tablesOf(
  section: Section,
  model: object,
  index: number,
): readonly { readonly path: string; readonly table: object }[] {
  const path = section.path.replace("[]", `[${index}]`);
  const key = section.path.slice("models[].".length);
  if (key === "") return [{ path, table: model }];
  if (!section.isList) return [{ path, table: tableAt(model, key) }];
  const list: unknown = Object.entries(model).find(([name]) => `${name}[]` === key)?.[1];
  const tables: readonly unknown[] = Array.isArray(list) ? list : [];
  return tables.flatMap((table, i) =>
    isObject(table) ? [{ path: path.replace("[]", `[${i}]`), table }] : [],
  );
}

/** A value as it stands in a TOML file. */
export function tomlValue(value: unknown): string {
  // A JSON text, number, boolean or list of these is one in TOML too.
  return JSON.stringify(value) ?? "";
}

/** A secret shows only where it comes from: `…`, `literal:…`. */
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
  return isObject(inner) ? inner : {};
}
