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

/** The text of the tool message. */
export function modelText(text: string, notes: readonly string[], files: readonly FileObject[]): string {
  const parts = [text, ...notes];
  if (files.length > 0) parts.push(["Files:", ...files.map(fileLines)].join("\n"));
  return parts.join("\n").toWellFormed(); // JSON of other programs may contain lone surrogates
}

function fileLines(file: FileObject): string {
  const { id, name, format, bytes, code, message, preview } = file;
  if (code !== undefined) return `- ${name}: [${code}] ${message ?? ""}`.trimEnd();
  const facts = [...(format === undefined ? [] : [format]), `${bytes} bytes`, id].join(", ");
  if (preview === undefined) return `- ${name} (${facts}): the user can download it`;
  const isWhole = new TextEncoder().encode(preview).byteLength >= bytes;
  const hint = isWhole ? "the whole text" : `the beginning; read the rest with svc_read_file`;
  return `- ${name} (${facts}): ${hint}:\n${preview}`;
}
