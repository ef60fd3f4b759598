// Documents in messages, PDFs and office files: their text is stored as a file beside them and read as any text; pages without text are
// images where the model sees.

import type { CutFile, FilePart } from "../core/agent.ts";
import type { NamedFile } from "../core/converters.ts";
import { defined } from "../core/defined.ts";
import type { StoredFile } from "../core/files.ts";
import { fileMarker, wholeFile } from "../core/input-file.ts";
import type { ContentPart } from "../core/message.ts";
import type { InputFilesDeps } from "./input-files.ts";
import { repeatableId } from "./source-bytes.ts";

/** Adds the pages of a scan to the images of the request, or says why not; undefined for a document without pages. */
export type PaintPages = (
  file: NamedFile,
  param: string,
  signal: AbortSignal,
) => Promise<
  | { readonly parts: readonly ContentPart[]; readonly total: number }
  | { readonly problem: string }
  | undefined
>;

interface StoredDocument {
  readonly file: StoredFile;
  readonly bytes: NamedFile["bytes"];
  readonly sessionId: string | undefined;
  readonly part: FilePart;
}

/** What stands in a message for a document. */
export interface ReadDocument {
  readonly content: readonly ContentPart[];
  /** Its text, as a file. */
  readonly files: readonly StoredFile[];
  /** Ids of files that the system text need not show. */
  readonly whole: readonly string[];
  readonly cut: readonly CutFile[];
}

/** Undefined for a file that is no document. */
export async function documentParts(
  deps: InputFilesDeps & { readonly paint?: PaintPages | undefined },
  { file, bytes, sessionId, part }: StoredDocument,
  signal: AbortSignal,
): Promise<ReadDocument | undefined> {
  const { id, name, mimeType, isText } = file;
  const named = { name, mimeType, isText, bytes };
  const textId = repeatableId(sessionId ?? deps.caller, `${name}.txt`, [new TextEncoder().encode(id)]);
  const known = await deps.files
    .body(textId)
    ?.text()
    .catch(() => undefined);
  const read = known === undefined ? await deps.converters.document(named, signal) : { text: known };
  if (read === undefined) return undefined;
  const marker = fileMarker(name);
  if ("problem" in read) return withoutText(file, marker, read.problem);
  if (read.text.trim() === "") {
    const pages = await deps.paint?.(named, part.param, signal);
    const problem = "it has no text, as a scan";
    if (pages === undefined) return withoutText(file, marker, problem);
    if ("problem" in pages)
      return withoutText(file, marker, `${problem}, and its pages cannot be shown: ${pages.problem}`);
    const shown = pages.parts.length;
    const cut = { name, unit: "pages", shown, of: pages.total } as const;
    const content = [marker, ...pages.parts];
    return { content, files: [], whole: [id], cut: shown < pages.total ? [cut] : [] };
  }
  const textFile = await deps.files.add(
    {
      id: textId,
      ...defined({ sessionId }),
      name: `${name}.txt`,
      mimeType: "text/plain",
      purpose: "user_data",
      source: { tool: "input_file", round: 0, turn: 0 },
    },
    [new TextEncoder().encode(read.text)],
  );
  return part.isWhole === true
    ? { content: [wholeFile(name, read.text)], files: [textFile], whole: [id, textId], cut: [] }
    : { content: [marker], files: [textFile], whole: [id], cut: [] };
}

function withoutText({ id, name, bytes }: StoredFile, marker: ContentPart, problem: string): ReadDocument {
  const note = {
    type: "text",
    text: `[The text of ${name.replaceAll(/\s+/g, " ")} cannot be read: ${problem}]`,
  } as const;
  return { content: [marker, note], files: [], whole: [id], cut: [{ name, shown: 0, bytes }] };
}
