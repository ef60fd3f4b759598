// What the model is told of a call: the tool's own text, then what it cannot see of it, then the files it left behind.

import type { FileObject } from "../core/agent.ts";
import { withheldNote } from "../core/media.ts";
import type { MediaPart, Modality } from "../core/message.ts";
import { fits, type MediaRoom } from "./input-media.ts";

export interface PerceivedMedia {
  readonly perceived: readonly MediaPart[];
  /** Of the others, so that the model does not speak of what it was not given. */
  readonly notes: readonly string[];
}

/** What the model is given of the media that a call made. `room` is absent where it takes none. */
export function perceivedMedia(media: readonly MediaPart[], room: MediaRoom | undefined): PerceivedMedia {
  const perceived: MediaPart[] = [];
  const withheld: Record<Modality, number> = { image: 0, audio: 0 };
  const refused: Record<Modality, number> = { image: 0, audio: 0 };
  for (const part of media) {
    if (room?.takes(part.type) !== true) withheld[part.type]++;
    else if (fits(part, room)) perceived.push(part);
    else refused[part.type]++;
  }
  const notes = (["image", "audio"] as const).flatMap((modality) => [
    ...(withheld[modality] > 0 ? [withheldNote(modality, withheld[modality])] : []),
    ...(refused[modality] > 0 ? [withheldNote(modality, refused[modality], NO_ROOM)] : []),
  ]);
  return { perceived, notes };
}

const NO_ROOM = "You are not given more: it cannot be read, or this request has no room left.";

/** The text of the tool message. */
export function modelText(text: string, notes: readonly string[], files: readonly FileObject[]): string {
  const parts = [text, ...notes];
  if (files.length > 0) parts.push(["Files:", ...files.map(fileLines)].join("\n"));
  return parts.join("\n").toWellFormed(); // JSON of other programs may hold halves of surrogate pairs
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
