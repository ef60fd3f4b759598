// Pictures and recordings in messages become the bytes of their files: decoded, fetched or taken from the store, checked
// against what the model takes, and counted. Nothing of it is stored as a file.

import type { FilePart, InputMessage, InputPart, NamedMedia } from "../core/agent.ts";
import { assert } from "../core/assert.ts";
import { ServiceError } from "../core/error.ts";
import { MEDIA_BYTES_MAX, MEDIA_MAX, REQUEST_MEDIA_BYTES_MAX } from "../core/limits.ts";
import { checkedMedium, type MediaRules, refuseUnperceived, withheldNote } from "../core/media.ts";
import type { ContentPart, MediaPart, Message, Modality } from "../core/message.ts";
import type { InputFilesDeps } from "./input-files.ts";
import { decodeInline, fetched, unknownFile } from "./source-bytes.ts";

/** What a request may still hold of pictures and recordings; it grows less with each that is added. */
export class MediaRoom {
  private readonly rules: MediaRules;
  private media = 0;
  private images = 0;
  private bytes = 0;
  private seconds = 0;

  constructor(rules: MediaRules) {
    this.rules = rules;
  }

  takes(modality: Modality): boolean {
    return this.rules.modalities.includes(modality);
  }

  /**
   * The part that these bytes are. Throws ServiceError for what the model does not take or what is too much; then the room
   * is as it was.
   */
  add(bytes: Uint8Array<ArrayBuffer>, modality: Modality, param: string): MediaPart {
    refuseUnperceived(modality, this.rules, param, beginning(param));
    const { part, seconds } = checkedMedium(bytes, modality, this.rules, param);
    const images = this.images + (modality === "image" ? 1 : 0);
    const { imagesMax, audioSecondsMax } = this.rules;
    if (images > imagesMax) throw tooMuch(param, imageCount(imagesMax));
    if (this.media === MEDIA_MAX) throw tooMuch(param, `${MEDIA_MAX} pictures and recordings`);
    if (this.bytes + bytes.byteLength > REQUEST_MEDIA_BYTES_MAX)
      throw tooMuch(param, `${REQUEST_MEDIA_BYTES_MAX} bytes of pictures and recordings together`);
    if (this.seconds + seconds > audioSecondsMax) throw tooMuch(param, `${audioSecondsMax} seconds of audio`);
    this.media++;
    this.images = images;
    this.bytes += bytes.byteLength;
    this.seconds += seconds;
    return part;
  }
}

function imageCount(count: number): string {
  return count === 1 ? "1 image" : `${count} images`;
}

function tooMuch(param: string, bound: string): ServiceError {
  return new ServiceError("invalid_request", `${param} is too much: a request may have at most ${bound}`, {
    param,
  });
}

type TakenMessage = Message<ContentPart | FilePart>;

/**
 * The messages with the bytes of their media. Throws, naming the part, `unsupported_capability` where the model does not
 * take such media, `file_not_found` for an unknown id, and `invalid_request` or `payload_too_large` for what is no medium
 * that can be read. Of what tools have made in earlier turns, as much is left as there is room for.
 */
export async function takeMedia(
  deps: Pick<InputFilesDeps, "files" | "fetchFile">,
  messages: readonly InputMessage[],
  { rules, room }: { readonly rules: MediaRules; readonly room: MediaRoom },
  signal: AbortSignal,
): Promise<readonly TakenMessage[]> {
  refuseUnfit(messages, rules);
  const taken = new Map<InputPart, MediaPart>();
  for (const { role, content } of messages) {
    for (const part of content) {
      if (part.type === "media") {
        taken.set(part, room.add(await bytesOf(deps, part, signal), part.modality, part.param));
      } else if (isTaken(part) && role !== "tool") {
        refuseUnperceived(part.type, rules, "session_id", beginning("session_id"));
        taken.set(part, again(part, room));
      }
    }
  }
  for (const part of messages.filter(({ role }) => role === "tool").flatMap(({ content }) => content)) {
    if (isTaken(part) && fits(part, room)) taken.set(part, part);
  }
  return messages.map((message) => ({
    ...message,
    content: message.content.map((part) => settled(part, taken.get(part))),
  }));
}

/** What can be refused before anything is fetched. */
function refuseUnfit(messages: readonly InputMessage[], rules: MediaRules): void {
  const named = messages.flatMap(({ content }) => content.filter((part) => part.type === "media"));
  for (const { modality, param } of named) refuseUnperceived(modality, rules, param, beginning(param));
  const extra = named.filter(({ modality }) => modality === "image")[rules.imagesMax];
  if (extra !== undefined) throw tooMuch(extra.param, imageCount(rules.imagesMax));
  const last = named[MEDIA_MAX];
  if (last !== undefined) throw tooMuch(last.param, `${MEDIA_MAX} pictures and recordings`);
}

/** A part is a medium; a field that continues a conversation only names one. */
function beginning(param: string): string {
  const isName = param === "session_id" || param === "previous_response_id";
  return isName ? `${param} names a conversation with` : `${param} is`;
}

function isTaken(part: InputPart): part is MediaPart {
  return part.type === "image" || part.type === "audio";
}

/** A medium that a session remembers: the model, or its rules, may be others than they were. */
function again({ type, data }: MediaPart, room: MediaRoom): MediaPart {
  return room.add(Uint8Array.fromBase64(data), type, "session_id");
}

/** Whether there is room for what a tool has made, which then takes it. Code that a model wrote may have made it. */
export function fits({ type, data }: MediaPart, room: MediaRoom): boolean {
  try {
    room.add(Buffer.from(data, "base64"), type, "media");
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

function settled(part: InputPart, medium: MediaPart | undefined): ContentPart | FilePart {
  if (medium !== undefined) return medium;
  if (isTaken(part)) return { type: "text", text: withheldNote(part.type, 1) };
  assert(part.type !== "media", "every medium that was sent has been taken");
  return part;
}

async function bytesOf(
  { files, fetchFile }: Pick<InputFilesDeps, "files" | "fetchFile">,
  { source, param }: NamedMedia,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const bounds = { param, bytesMax: MEDIA_BYTES_MAX };
  switch (source.type) {
    case "inline":
      return joined(decodeInline(source.data, bounds).pieces);
    case "remote":
      return joined((await fetched(fetchFile, source.url, bounds, signal)).pieces);
    case "stored":
      return storedBytes(files, source.id, bounds);
  }
}

async function storedBytes(
  files: InputFilesDeps["files"],
  id: string,
  { param, bytesMax }: { readonly param: string; readonly bytesMax: number },
): Promise<Uint8Array<ArrayBuffer>> {
  if (files.get(id) === undefined) throw unknownFile(id, param);
  const body = files.body(id);
  if (body === undefined) {
    const message = `${param}: the bytes of this file are not kept any more; upload it again`;
    throw new ServiceError("file_body_elided", message, { param });
  }
  if (body.size > bytesMax) {
    throw new ServiceError("payload_too_large", `${param} is larger than ${bytesMax} bytes`, { param });
  }
  return new Uint8Array(await body.arrayBuffer());
}

function joined(pieces: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const [only, ...others] = pieces;
  if (only !== undefined && others.length === 0) return only;
  const whole = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
