// Text of office documents: zip archives of XML. Paragraphs become lines, table cells are separated by tabs.

import { tidied } from "../../core/visible-text.ts";
import { unzipSync } from "fflate";
import { Parser } from "htmlparser2";
import { DEPTH_MAX, DocumentProblem, Pieces } from "./reading.ts";
import { sheetsText } from "./sheets.ts";

/** Unpacked XML of a document, bytes: an archive of a few kilobytes can name gigabytes. */
const UNPACKED_BYTES_MAX = 128 * 1024 * 1024;

/** XML files of a document by path. */
export type Parts = ReadonlyMap<string, string>;

/** Text of a document. Throws DocumentProblem. */
export function officeText(bytes: Uint8Array): string {
  const parts = unpacked(bytes);
  const text = textOf(parts);
  if (text === undefined) throw new DocumentProblem("unknownKind");
  return tidied(text);
}

function textOf(parts: Parts): string | undefined {
  const content = parts.get("content.xml"); // OpenDocument
  if (content !== undefined) return xmlText(content);
  if (parts.has("xl/workbook.xml")) return sheetsText(parts);
  const document = parts.get("word/document.xml");
  if (document !== undefined) {
    const notes = ["word/footnotes.xml", "word/endnotes.xml"].map((path) => xmlText(parts.get(path) ?? ""));
    return [xmlText(document), ...notes].join("\n\n");
  }
  return parts.has("ppt/presentation.xml") ? slidesText(parts) : undefined;
}

function slidesText(parts: Parts): string {
  const numbered = (folder: string, file: string): readonly (readonly [number, string])[] =>
    [...parts]
      .flatMap(([path, xml]) => {
        const number = path.startsWith(`ppt/${folder}/`)
          ? new RegExp(`${file}(\\d+)\\.xml$`).exec(path)
          : null;
        return number === null ? [] : [[Number(number[1]), xml] as const];
      })
      .toSorted(([a], [b]) => a - b);
  const notes = new Map(numbered("notesSlides", "notesSlide"));
  return numbered("slides", "slide")
    .map(([number, xml]) => {
      const note = xmlText(notes.get(number) ?? "").trim();
      return `[slide ${number}]\n${xmlText(xml).trim()}${note === "" ? "" : `\nNotes: ${note}`}`;
    })
    .join("\n\n");
}

function unpacked(bytes: Uint8Array): Parts {
  let total = 0;
  const isWanted = ({ name, originalSize }: { readonly name: string; readonly originalSize: number }) => {
    if (!name.endsWith(".xml") && !name.endsWith(".rels")) return false;
    total += originalSize;
    if (total > UNPACKED_BYTES_MAX) throw new DocumentProblem("tooLargeUnpacked");
    return true;
  };
  let files: Readonly<Record<string, Uint8Array>>;
  try {
    files = unzipSync(bytes, { filter: isWanted });
  } catch (error) {
    const isTooLarge = total > UNPACKED_BYTES_MAX;
    throw new DocumentProblem(isTooLarge ? "tooLargeUnpacked" : "damaged", { cause: error });
  }
  const decoder = new TextDecoder();
  return new Map(Object.entries(files).map(([path, xml]) => [path, decoder.decode(xml)]));
}

/** Elements whose text is content; OpenDocument's have text of their own. */
const TEXTS: ReadonlySet<string> = new Set(["w:t", "a:t", "text:p", "text:h"]);
/** What an element ends with in the text. */
const AFTER: Readonly<Record<string, string>> = {
  "w:p": "\n",
  "a:p": "\n",
  "text:p": "\n",
  "text:h": "\n",
  "w:br": "\n",
  "a:br": "\n",
  "text:line-break": "\n",
  "w:tab": "\t",
  "text:tab": "\t",
  "text:s": " ",
};
const CELLS: ReadonlySet<string> = new Set(["w:tc", "a:tc", "table:table-cell"]);
const ROWS: ReadonlySet<string> = new Set(["w:tr", "a:tr", "table:table-row"]);
/** Not content: what a revision removed, and comments. */
const LEFT_OUT: ReadonlySet<string> = new Set(["office:annotation", "text:tracked-changes"]);

/** Text of a document's XML. */
function xmlText(xml: string): string {
  const text = new Pieces();
  let depth = 0;
  /** Starts of the open cells in `text`. */
  const cells: number[] = [];
  let texts = 0;
  let leftOut = 0;
  const parser = new Parser(
    {
      onopentag: (name) => {
        if (++depth > DEPTH_MAX) throw new DocumentProblem("tooDeep");
        if (TEXTS.has(name)) texts++;
        if (LEFT_OUT.has(name)) leftOut++;
        if (CELLS.has(name)) cells.push(text.count);
      },
      ontext: (data) => {
        if (texts > 0 && leftOut === 0) text.push(data);
      },
      onclosetag: (name) => {
        depth--;
        if (TEXTS.has(name)) texts--;
        if (LEFT_OUT.has(name)) leftOut--;
        const after = AFTER[name];
        if (after !== undefined && leftOut === 0) text.push(after);
        if (CELLS.has(name)) text.push(`${oneLine(text.takeFrom(cells.pop() ?? text.count))}\t`);
        if (ROWS.has(name)) text.push("\n");
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(xml);
  return text.text();
}

function oneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, " ");
}
