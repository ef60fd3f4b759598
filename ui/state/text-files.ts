// Text files among attachments, and how much of them a request carries. Pure.

import type { Attachment } from "./conversation.ts";
import type { ModelCard } from "./model-card.ts";

/** Types other than text/… whose files are text. */
const TEXT_TYPES =
  /^application\/(?:json|xml|javascript|x-sh|toml|yaml|x-yaml|sql|x-ndjson|[\w.-]+\+(?:json|xml))$/;

/** Types that say nothing. */
const UNKNOWN_TYPES: ReadonlySet<string> = new Set(["", "application/octet-stream"]);

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
}

/** Characters of the files of one message that a model can take. */
export function fileBudget(card: ModelCard | undefined): number {
  const tokens = card?.context_length ?? 0;
  return tokens === 0 ? CHARS_UNKNOWN : Math.floor(tokens * TOKEN_CHARS * FILES_SHARE);
}

/** The texts of a message's files, in order, within a budget; undefined for files that are not text. */
export function fileTexts(
  attachments: readonly Attachment[],
  budget: number,
): readonly (FileText | undefined)[] {
  let left = budget;
  return attachments.map((attachment) => {
    const whole = textOf(attachment);
    if (whole === undefined) return undefined;
    const text = whole.slice(0, left);
    left -= text.length;
    return { text, total: whole.length };
  });
}

/** Decoded texts, because the composer asks for them at every key. */
const decoded = new WeakMap<Attachment, { readonly text: string | undefined }>();

function textOf(attachment: Attachment): string | undefined {
  const known = decoded.get(attachment) ?? { text: decode(attachment) };
  decoded.set(attachment, known);
  return known.text;
}

/** The text of a file; undefined where it is not UTF-8, or of a type that is no text. */
function decode({ mime, data }: Attachment): string | undefined {
  if (!mime.startsWith("text/") && !TEXT_TYPES.test(mime) && !UNKNOWN_TYPES.has(mime)) return undefined;
  const bytes = Uint8Array.from(atob(data.slice(data.indexOf(",") + 1)), (character) =>
    character.charCodeAt(0),
  );
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}
