// Resolves images, audio and videos in messages to bytes (inline, fetched or from the file store) and checks them against the
// model's modalities and the request's limits. Stores no files.

import type { CutFile, FilePart, InputMessage, InputPart, NamedMedia } from "../core/agent.ts";
import { assert } from "../core/assert.ts";
import { ServiceError } from "../core/error.ts";
import { MEDIA_BYTES_MAX, MEDIA_MAX, REQUEST_MEDIA_BYTES_MAX } from "../core/limits.ts";
import {
  checkedMedium,
  isPerceived,
  type MediaRules,
  refuseUnperceived,
  unperceivedNote,
  withheldNote,
} from "../core/media.ts";
import type { ContentPart, MediaPart, Message, Modality } from "../core/message.ts";
import type { InputFilesDeps } from "./input-files.ts";
import { engineBytes, type PerceivedParts, imageParts } from "./input-image.ts";
import { soundParts } from "./input-sound.ts";
import { videoParts } from "./input-video.ts";
import { decodeInline, fetched, joined, unknownFile } from "./source-bytes.ts";

/** Media limits of one request. Counts each medium that is added. */
export class MediaBudget {
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

  /** Of audio. */
  secondsLeft(): number {
    return this.rules.audioSecondsMax - this.seconds;
  }

  bytesLeft(): number {
    return REQUEST_MEDIA_BYTES_MAX - this.bytes;
  }

  /** Images of an animation, where that number of others is still to come; at least one, which `add` may refuse. */
  framesLeft(others: number): number {
    const { imagesMax, videoFramesMax } = this.rules;
    return Math.max(1, Math.min(videoFramesMax, imagesMax - this.images - others));
  }

  /**
   * Adds a medium and returns its message part. Throws ServiceError if the model does not accept it or a limit is exceeded;
   * then nothing is counted.
   */
  add(bytes: Uint8Array<ArrayBuffer>, modality: Modality, param: string): MediaPart {
    refuseUnperceived(modality, this.rules, param, subject(param));
    const { part, seconds, isForeign, format } = checkedMedium(bytes, modality, this.rules, param);
    assert(!isForeign, `a file like ${format} is converted before`);
    const images = this.images + (modality === "image" ? 1 : 0);
    const { imagesMax, audioSecondsMax } = this.rules;
    if (images > imagesMax) throw overLimit(param, `${imageCount(imagesMax)}, frames of videos included`);
    if (this.media === MEDIA_MAX) throw overLimit(param, `${MEDIA_MAX} images and audio clips`);
    if (this.bytes + bytes.byteLength > REQUEST_MEDIA_BYTES_MAX)
      throw overLimit(param, `${REQUEST_MEDIA_BYTES_MAX} bytes of images and audio in total`);
    if (this.seconds + seconds > audioSecondsMax)
      throw overLimit(param, `${audioSecondsMax} seconds of audio`);
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

function overLimit(param: string, bound: string): ServiceError {
  return new ServiceError(
    "invalid_request",
    `${param} exceeds a limit: a request may have at most ${bound}`,
    {
      param,
    },
  );
}

type ResolvedMessage = Message<ContentPart | FilePart>;

/** Messages with their media, and those of which they hold a part. */
interface ResolvedMedia {
  readonly messages: readonly ResolvedMessage[];
  readonly cut: readonly CutFile[];
}

/**
 * Messages with the bytes of their media. Throws, naming the part: `unsupported_capability` if the model does not accept the
 * modality of a user's part, `file_not_found` for an unknown id, `invalid_request` or `payload_too_large` for unreadable media. Media that
 * tools produced in earlier turns are kept within the limits and otherwise replaced by a note.
 */
export async function resolveMedia(
  deps: InputFilesDeps,
  sent: readonly InputMessage[],
  { rules, mediaBudget }: { readonly rules: MediaRules; readonly mediaBudget: MediaBudget },
  signal: AbortSignal,
): Promise<ResolvedMedia> {
  const messages = sent.map((message) => withoutUnperceived(message, rules));
  refuseBeforeFetch(messages, rules);
  const taken = new Map<InputPart, readonly ContentPart[]>();
  const cut: CutFile[] = [];
  let images = namedOf(messages).filter(({ modality }) => modality === "image").length;
  for (const { role, content } of messages) {
    for (const part of content) {
      if (part.type === "media") {
        if (part.modality === "image") images--;
        const place = { rules, mediaBudget, imagesAfter: images };
        const resolved = await namedParts(deps, part, place, signal);
        taken.set(part, resolved.parts);
        cut.push(...resolved.cut);
      } else if (isResolved(part) && role !== "tool") {
        refuseUnperceived(part.type, rules, "session_id", subject("session_id"));
        taken.set(part, [await fromSession(deps, part, { rules, mediaBudget }, signal)]);
      }
    }
  }
  for (const part of messages.filter(({ role }) => role === "tool").flatMap(({ content }) => content)) {
    if (isResolved(part) && fits(part, mediaBudget)) taken.set(part, [part]);
  }
  const resolved = messages.map((message) => ({
    ...message,
    content: message.content.flatMap((part) => resolvedPart(part, taken.get(part))),
  }));
  return { messages: resolved, cut };
}

function namedOf(messages: readonly InputMessage[]): readonly NamedMedia[] {
  return messages.flatMap(({ content }) => content.filter((part) => part.type === "media"));
}

/** A result of a client's tool with notes in place of media that the model does not take: its sender cannot know that. */
function withoutUnperceived(message: InputMessage, rules: MediaRules): InputMessage {
  if (message.role !== "tool") return message;
  const content = message.content.map((part): InputPart => {
    if (part.type !== "media" || isPerceived(part.modality, rules)) return part;
    return { type: "text", text: unperceivedNote(part.modality) };
  });
  return { ...message, content };
}

/** Checks that need no bytes, before anything is fetched. */
function refuseBeforeFetch(messages: readonly InputMessage[], rules: MediaRules): void {
  const named = namedOf(messages);
  for (const { modality, param } of named) refuseUnperceived(modality, rules, param, subject(param));
  const extra = named.filter(({ modality }) => modality === "image")[rules.imagesMax];
  if (extra !== undefined) throw overLimit(extra.param, imageCount(rules.imagesMax));
  const last = named[MEDIA_MAX];
  if (last !== undefined) throw overLimit(last.param, `${MEDIA_MAX} images and audio clips`);
}

/** Start of an error message: a part is a medium, `session_id` refers to a conversation with one. */
function subject(param: string): string {
  const isName = param === "session_id" || param === "previous_response_id";
  return isName ? `${param} names a conversation with` : `${param} is`;
}

function isResolved(part: InputPart): part is MediaPart {
  return part.type === "image" || part.type === "audio";
}

/** A medium of the session's history, checked again: the model or its limits may have changed, or it was imported. */
async function fromSession(
  { converters }: Pick<InputFilesDeps, "converters">,
  { type, data }: MediaPart,
  { rules, mediaBudget }: Omit<MediaPlace, "imagesAfter">,
  signal: AbortSignal,
): Promise<MediaPart> {
  const bytes = await engineBytes(converters, { type, data }, rules, signal);
  return mediaBudget.add(bytes, type, "session_id");
}

/** Adds a tool's medium if it is within the limits. Model-written code may have produced it, so it is untrusted. */
export function fits({ type, data }: MediaPart, mediaBudget: MediaBudget): boolean {
  try {
    const bytes = Buffer.from(data, "base64");
    if (checkedMedium(bytes, type, {}, "media").isForeign) return false;
    mediaBudget.add(bytes, type, "media");
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

function resolvedPart(
  part: InputPart,
  media: readonly ContentPart[] | undefined,
): readonly (ContentPart | FilePart)[] {
  if (media !== undefined) return media;
  if (isResolved(part)) return [{ type: "text", text: withheldNote(part.type, 1) }];
  assert(part.type !== "media", "every medium of the request is resolved");
  return [part];
}

interface MediaPlace {
  readonly rules: MediaRules;
  readonly mediaBudget: MediaBudget;
  /** Images of the request after this one. */
  readonly imagesAfter: number;
}

async function namedParts(
  deps: InputFilesDeps,
  part: NamedMedia,
  { rules, mediaBudget, imagesAfter }: MediaPlace,
  signal: AbortSignal,
): Promise<PerceivedParts> {
  const { modality, param } = part;
  const bytes = (): Promise<Uint8Array<ArrayBuffer>> => bytesOf(deps, part, signal);
  switch (modality) {
    case "image": {
      const framesMax = mediaBudget.framesLeft(imagesAfter);
      const file = { bytes: await bytes(), param };
      return imageParts(deps.converters, file, { rules, mediaBudget, framesMax }, signal);
    }
    case "audio":
      return soundParts(deps.converters, { bytes: await bytes(), param }, { rules, mediaBudget }, signal);
    case "video":
      return { parts: await videoParts(deps, part, { bytes, rules, mediaBudget }, signal), cut: [] };
  }
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
    const message = `${param}: the content of this file was evicted; upload it again`;
    throw new ServiceError("file_body_elided", message, { param });
  }
  if (body.size > bytesMax) {
    throw new ServiceError("payload_too_large", `${param} is larger than ${bytesMax} bytes`, { param });
  }
  return new Uint8Array(await body.arrayBuffer());
}
