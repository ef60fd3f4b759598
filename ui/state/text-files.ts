// Text files and documents among attachments, and how much of them a request carries. Pure.

import type { Attachment, Excerpt } from "./conversation.ts";
import { textIn } from "../../src/reader/documents/decoded-text.ts";
import { documentKind } from "../../src/reader/documents/reading.ts";
import { mediaTypeOf } from "./media-types.ts";
import type { ModelCard } from "./model-card.ts";

/** Characters of a token, about, and the share of a context that files may fill. */
const TOKEN_CHARS = 3;
const FILES_SHARE = 0.5;
/** Characters of all files of a message for a model of unknown context. */
const CHARS_UNKNOWN = 60_000;

export interface FileText {
  /** As much of the file as is sent. */
  readonly text: string;
  /** Characters of the whole file. */
  readonly total: number;
  /** Passages instead of the whole, and how many the file has. */
  readonly passages?: { readonly sent: number; readonly total: number };
}

/** Characters of the files of one message that a model can take. */
export function fileBudget(card: ModelCard | undefined): number {
  const tokens = card?.context_length ?? 0;
  return tokens === 0 ? CHARS_UNKNOWN : Math.floor(tokens * TOKEN_CHARS * FILES_SHARE);
}

/**
 * The texts of a message's files, in order, within a budget; undefined for files that are not text. Of a file with an excerpt the
 * excerpt is the text.
 */
export function fileTexts(
  attachments: readonly Attachment[],
  budget: number,
  excerpts: readonly Excerpt[] = [],
): readonly (FileText | undefined)[] {
  let left = budget;
  return attachments.map((attachment) => {
    const whole = textOf(attachment);
    if (whole === undefined) return undefined;
    const excerpt = excerpts.find(({ file }) => file === attachment.name);
    const text = (excerpt === undefined ? whole : excerptText(excerpt)).slice(0, left);
    left -= text.length;
    if (excerpt === undefined) return { text, total: whole.length };
    const passages = { sent: excerpt.passages.length, total: excerpt.total };
    return { text, total: whole.length, passages };
  });
}

/** Passages below their numbers. */
export function excerptText({ passages }: Excerpt): string {
  return passages.map(({ index, text }) => `[passage ${index + 1}]\n${text}`).join("\n\n");
}

/** Decoded texts, because the composer asks for them at every key. */
const decoded = new WeakMap<Attachment, { readonly text: string | undefined }>();

/** The text of a file; undefined if it is none. */
export function textOf(attachment: Attachment): string | undefined {
  const known = decoded.get(attachment) ?? { text: decode(attachment) };
  decoded.set(attachment, known);
  return known.text;
}

/**
 * The text of a file; undefined if it has none. The content decides, not the type: to browsers, program.ts is a video and
 * script.php an application.
 */
function decode(attachment: Attachment): string | undefined {
  const { text, name, mime } = attachment;
  if (text !== undefined) return text === "" ? undefined : text;
  if (mediaTypeOf(attachment) !== undefined || documentKind(name, mime) !== undefined) return undefined;
  return textIn(bytesOf(attachment));
}

/** The content of a file. */
export function bytesOf({ data }: Pick<Attachment, "data">): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(data.slice(data.indexOf(",") + 1)), (character) => character.charCodeAt(0));
}
