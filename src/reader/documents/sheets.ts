// Text of spreadsheets (xlsx): the cells of each sheet, separated by tabs.

import { Parser } from "htmlparser2";
import type { Parts } from "./office.ts";
import { DEPTH_MAX, DocumentProblem, Pieces } from "./reading.ts";

/** Formats of dates and times that a file does not spell out, and what the others have in common. */
const DATE_FORMATS: ReadonlySet<number> = new Set([14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 46, 47]);
const DATE_CODE = /[ymdhs]/i;
/** Not part of a format's letters: quoted text, colours, escaped characters. */
const QUOTED = /"[^"]*"|\[[^\]]*\]|\\./g;

/** Day 0 of spreadsheets, and seconds of a day. Unix milliseconds. */
const EPOCH_MS = Date.UTC(1899, 11, 30);
const DAY_MS = 86_400_000;

/** Cells between two that are filled, at most: a sheet can have 16,384 columns. */
const GAP_MAX = 50;

interface Workbook {
  readonly strings: readonly string[];
  /** Whether a cell style shows a date, by its index. */
  readonly dates: readonly boolean[];
}

export function sheetsText(parts: Parts): string {
  const book = { strings: sharedStrings(parts), dates: dateStyles(parts) };
  const text = new Pieces();
  for (const { name, xml } of sheets(parts)) {
    text.push(`${text.count === 0 ? "" : "\n\n"}[sheet ${name}]`);
    addSheet(xml, book, text);
  }
  return text.text();
}

function sheets(parts: Parts): readonly { readonly name: string; readonly xml: string }[] {
  const targets = new Map<string, string>();
  parse(parts.get("xl/_rels/workbook.xml.rels"), (name, { Id = "", Target = "" }) => {
    if (name === "Relationship") targets.set(Id, Target.replace(/^\/?(?:xl\/)?/, "xl/"));
  });
  const found: { name: string; xml: string }[] = [];
  parse(parts.get("xl/workbook.xml"), (tag, { name = "", "r:id": id = "" }) => {
    const xml = tag === "sheet" ? parts.get(targets.get(id) ?? "") : undefined;
    if (xml !== undefined) found.push({ name, xml });
  });
  return found;
}

function sharedStrings(parts: Parts): readonly string[] {
  const strings: string[] = [];
  let isPhonetic = false;
  let isText = false;
  const open = (name: string): void => {
    if (name === "si") strings.push("");
    if (name === "rPh") isPhonetic = true;
    isText = name === "t" && !isPhonetic;
  };
  const close = (name: string): void => {
    if (name === "rPh") isPhonetic = false;
    if (name === "t") isText = false;
  };
  parse(parts.get("xl/sharedStrings.xml"), open, close, (text) => {
    if (isText) strings.push((strings.pop() ?? "") + text);
  });
  return strings;
}

function dateStyles(parts: Parts): readonly boolean[] {
  const codes = new Map<number, string>();
  const dates: boolean[] = [];
  let isCells = false;
  const open = (name: string, { numFmtId = "", formatCode = "" }: Readonly<Record<string, string>>): void => {
    const id = Number(numFmtId);
    if (name === "numFmt") codes.set(id, formatCode.replaceAll(QUOTED, ""));
    if (name === "cellXfs") isCells = true;
    if (name === "xf" && isCells) dates.push(DATE_FORMATS.has(id) || DATE_CODE.test(codes.get(id) ?? ""));
  };
  parse(parts.get("xl/styles.xml"), open, (name) => {
    if (name === "cellXfs") isCells = false;
  });
  return dates;
}

/** Adds the rows of a sheet that have cells, each with a line break before it. */
function addSheet(xml: string, book: Workbook, text: Pieces): void {
  let cells = 0; // of the row, with its gaps
  let cell: { type: string; style: number; column: number } | undefined;
  let value: string | undefined;
  const open = (name: string, { r = "", t = "n", s = "" }: Readonly<Record<string, string>>): void => {
    if (name === "row") cells = 0;
    if (name === "c") cell = { type: t, style: Number(s), column: columnOf(r) };
    if (name === "v" || name === "t") value ??= "";
  };
  const close = (name: string): void => {
    if (name !== "c" || cell === undefined) return;
    if (value !== undefined) {
      const gap = Math.max(0, Math.min(GAP_MAX, cell.column - cells));
      const before = cells === 0 ? `\n${"\t".repeat(gap)}` : "\t".repeat(gap + 1);
      text.push(before + shown(value, cell, book));
      cells += gap + 1;
    }
    [cell, value] = [undefined, undefined];
  };
  parse(xml, open, close, (piece) => {
    if (value !== undefined) value += piece;
  });
}

function shown(
  value: string,
  { type, style }: { readonly type: string; readonly style: number },
  { strings, dates }: Workbook,
): string {
  if (type === "s") return (strings[Number(value)] ?? "").replaceAll(/\s+/g, " ");
  if (type === "b") return value === "1" ? "TRUE" : "FALSE";
  const isDate = type === "n" && dates[style] === true && value !== "" && Number.isFinite(Number(value));
  return isDate ? dateOf(Number(value)) : value.replaceAll(/\s+/g, " ");
}

/** 45000.5 → 2023-03-15 12:00 */
function dateOf(days: number): string {
  const date = new Date(EPOCH_MS + Math.round(days * DAY_MS));
  if (Number.isNaN(date.getTime())) return String(days);
  const [day = "", time = ""] = date.toISOString().split("T");
  if (days < 1) return time.slice(0, 8);
  return Number.isInteger(days) ? day : `${day} ${time.slice(0, 5)}`;
}

/** Index of the column of a cell's name: B7 → 1. */
function columnOf(name: string): number {
  let index = 0;
  for (const letter of name.replace(/\d+$/, "")) index = index * 26 + letter.charCodeAt(0) - 64;
  return Math.max(0, index - 1);
}

function parse(
  xml = "",
  onopentag: (name: string, attributes: Record<string, string>) => void,
  onclosetag: (name: string) => void = () => undefined,
  ontext: (text: string) => void = () => undefined,
): void {
  let depth = 0;
  const open = (name: string, attributes: Record<string, string>): void => {
    if (++depth > DEPTH_MAX) throw new DocumentProblem("tooDeep");
    onopentag(name, attributes);
  };
  const close = (name: string): void => {
    depth--;
    onclosetag(name);
  };
  new Parser({ onopentag: open, onclosetag: close, ontext }, { xmlMode: true }).end(xml);
}
