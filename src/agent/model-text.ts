// Content of a tool message: the tool's text, notes on withheld media, and the list of produced files.

import type { FileObject } from "../core/agent.ts";
import { withheldNote } from "../core/media.ts";
import type { MediaPart, Modality } from "../core/message.ts";
import { fits, type MediaBudget } from "./input-media.ts";

export interface PerceivedMedia {
  readonly perceived: readonly MediaPart[];
  /** One note for each kind of withheld media, so that the model does not describe them. */
  readonly notes: readonly string[];
}

/** Splits a call's media into those the model gets and notes on the others. `mediaBudget` is absent if it accepts none. */
export function perceivedMedia(
  media: readonly MediaPart[],
  mediaBudget: MediaBudget | undefined,
): PerceivedMedia {
  const perceived: MediaPart[] = [];
  const withheld: Record<Modality, number> = { image: 0, audio: 0 };
  const refused: Record<Modality, number> = { image: 0, audio: 0 };
  for (const part of media) {
    if (mediaBudget?.takes(part.type) !== true) withheld[part.type]++;
    else if (fits(part, mediaBudget)) perceived.push(part);
    else refused[part.type]++;
  }
  const notes = (["image", "audio"] as const).flatMap((modality) => [
    ...(withheld[modality] > 0 ? [withheldNote(modality, withheld[modality])] : []),
    ...(refused[modality] > 0 ? [withheldNote(modality, refused[modality], REFUSED_NOTE)] : []),
  ]);
  return { perceived, notes };
}

const REFUSED_NOTE = "No more are given to you: unreadable, or the limits of this request are reached.";

/** How the files of a call are listed. */
export interface FileListing {
  /** Characters of the list, previews included. */
  readonly charsMax: number;
  /** Name of the tool that reads a stored file by id; absent where the request lacks it. */
  readonly readTool?: string;
}

/** The text of the tool message. */
export function modelText(
  text: string,
  notes: readonly string[],
  files: readonly FileObject[],
  listing: FileListing,
): string {
  const parts = [text, ...notes];
  if (files.length > 0) parts.push(["Files:", ...fileList(files, listing)].join("\n"));
  return parts.join("\n").toWellFormed(); // JSON of other programs may contain lone surrogates
}

/** Lines about files, each with a preview as long as there is room for it; then how many more there are. */
function fileList(files: readonly FileObject[], { charsMax, readTool }: FileListing): readonly string[] {
  const bare = files.map((file) => fileLines(file, readTool, false));
  const listed = countWithin(bare, charsMax);
  let left = charsMax - bare.slice(0, listed).reduce((sum, lines) => sum + lines.length + 1, 0);
  const lines = files.slice(0, listed).map((file, index) => {
    const whole = fileLines(file, readTool, true);
    const more = whole.length - (bare[index]?.length ?? 0);
    if (more > left) return bare[index] ?? "";
    left -= more;
    return whole;
  });
  const rest = files.length - listed;
  return rest === 0 ? lines : [...lines, `- and ${rest} more files, which the user can download`];
}

/** How many of the first texts fit together. */
function countWithin(texts: readonly string[], charsMax: number): number {
  let chars = 0;
  for (const [index, text] of texts.entries()) {
    chars += text.length + 1;
    if (chars > charsMax && index > 0) return index;
  }
  return texts.length;
}

function fileLines(file: FileObject, readTool: string | undefined, hasPreview: boolean): string {
  const { id, name, format, bytes, code, message, preview } = file;
  if (code !== undefined) return `- ${name}: [${code}] ${message ?? ""}`.trimEnd();
  const facts = [...(format === undefined ? [] : [format]), `${bytes} bytes`, id].join(", ");
  if (preview === undefined) return `- ${name} (${facts}): the user can download it`;
  const read = (what: string): string => (readTool === undefined ? "" : `; read ${what} with ${readTool}`);
  if (!hasPreview) return `- ${name} (${facts}): text${read("it")}`;
  const isWhole = Buffer.byteLength(preview) >= bytes;
  const hint = isWhole ? "the whole text" : `the beginning${read("the rest")}`;
  return `- ${name} (${facts}): ${hint}:\n${preview}`;
}
