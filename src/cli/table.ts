// Columns of text for a terminal.

import { terminalText } from "../core/visible-text.ts";

/** Pads cells to columns, the numbered ones to the right; a line for each row. Cells may be third-party text. */
export function columns(
  cells: readonly (readonly string[])[],
  right: (column: number) => boolean = () => false,
): string {
  const rows = cells.map((row) => row.map((cell) => terminalText(cell).replaceAll(/[\n\t]/g, " ")));
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row.map((cell, i) => (right(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0))).join("  ");
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("");
}
