// Writes the table of chat templates in docs/templates.md:  bun test/templates/table.ts

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { grammarEngine, tinyVocabulary } from "../helpers/grammar.ts";
import { tinyBackend } from "../helpers/native.ts";
import { TemplateBench } from "../helpers/template-bench.ts";
import { chatTemplates } from "../helpers/templates.ts";
import { markupOf, openVocabulary } from "../helpers/vocabularies.ts";
import { COLUMNS, type TableContext } from "./columns.ts";

const PATH = join(import.meta.dir, "../../docs/templates.md");
const BEGIN = "<!-- table: made by test/templates/table.ts -->";

/** The templates, open; `close` them afterwards. */
export async function tableContext(
  sources: ReadonlyMap<string, string>,
): Promise<TableContext & { close(): void }> {
  const backend = await tinyBackend({ contextLen: 512 });
  const vocabulary = tinyVocabulary();
  const suite = { backend, grammars: grammarEngine(vocabulary), vocabulary };
  const markup = [...new Set([...sources.values()].flatMap(markupOf))];
  const bench = new TemplateBench(openVocabulary("bpe", markup), sources);
  let other: TemplateBench | undefined;
  const undecided = (): TemplateBench =>
    (other ??= new TemplateBench(openVocabulary("bpe", markup), sources, { thinkingDefault: "template" }));
  const close = (): void => {
    bench.close();
    other?.close();
    suite.grammars.close();
    backend.close();
  };
  return { bench, undecided, sources, suite, close };
}

/** The table and what its columns mean, as Markdown. Templates of usual cells alone share a line. */
function tableText(context: TableContext): string {
  const names = [...context.sources.keys()].toSorted((a, b) => a.localeCompare(b, "en"));
  const cellsOf = (name: string): readonly string[] =>
    COLUMNS.map((column) => {
      const cell = column.cell(context, name);
      return cell === column.usual ? "" : cell;
    });
  const rows = names.map((name) => ({ name, cells: cellsOf(name) }));
  const isUsual = ({ cells }: { readonly cells: readonly string[] }): boolean =>
    cells.every((cell) => cell === "");
  const line = (cells: readonly string[]): string => `|${cells.join("|")}|`;
  const titles = ["Template", ...COLUMNS.map(({ title }) => title)];
  const meanings = COLUMNS.map(({ title, meaning }) => `- **${title}**: ${meaning}`);
  const usual = rows.filter(isUsual).map(({ name }) => name);
  const others = rows.filter((row) => !isUsual(row)).map(({ name, cells }) => line([name, ...cells]));
  const list = `Everything usual: ${usual.join(", ")}.`;
  return [...meanings, "", list, "", line(titles), line(titles.map(() => "---")), ...others].join("\n");
}

/** docs/templates.md as it is, and as it should be. */
export function document(context: TableContext): { readonly is: string; readonly ought: string } {
  const is = readFileSync(PATH, "utf8");
  const at = is.indexOf(BEGIN);
  return { is, ought: `${is.slice(0, at)}${BEGIN}\n\n${tableText(context)}\n` };
}

if (import.meta.main) {
  const found = chatTemplates();
  if (found.type === "missing") throw new Error(found.reason);
  const context = await tableContext(found.sources);
  writeFileSync(PATH, document(context).ought);
  context.close();
}
