// An image of a request becomes one that the engine reads: upright, of a format that it knows, an animation as its frames.

import type { CutFile } from "../core/agent.ts";
import type { Converters } from "../core/converters.ts";
import { ServiceError } from "../core/error.ts";
import { VIDEO_MARKER } from "../core/input-file.ts";
import { AUDIO_SECONDS_MAX } from "../core/limits.ts";
import { checkedMedium, type MediaRules } from "../core/media.ts";
import type { ContentPart, MediaPart } from "../core/message.ts";
import { frameTime, type VideoFrame } from "../core/video.ts";

/** Parts of a message that stand for a medium, and whether they are a part of it only. */
export interface PerceivedParts {
  readonly parts: readonly ContentPart[];
  readonly cut: readonly CutFile[];
}

/** What counts the images of a request. */
interface ImageCount {
  add(bytes: Uint8Array<ArrayBuffer>, modality: "image", param: string): MediaPart;
}

export interface ImagePlace {
  readonly rules: MediaRules;
  readonly mediaBudget: ImageCount;
  /** Of an animation. */
  readonly framesMax: number;
}

/** Parts that stand for an image. Throws ServiceError, naming the field. */
export async function imageParts(
  { image }: Converters,
  { bytes, param }: { readonly bytes: Uint8Array<ArrayBuffer>; readonly param: string },
  { rules, mediaBudget, framesMax }: ImagePlace,
  signal: AbortSignal,
): Promise<PerceivedParts> {
  const { format, isConverted } = checkedMedium(bytes, "image", rules, param);
  if (!isConverted) return { parts: [mediaBudget.add(bytes, "image", param)], cut: [] };
  const { frames, total } = await image({ bytes, format, param }, framesMax, signal);
  const parts = frames.length === 1 ? [] : [VIDEO_MARKER];
  const shown = frames.flatMap((frame) => frameParts(frame, frames.length, mediaBudget, param));
  const unit = format === "TIFF" ? ("pages" as const) : ("frames" as const);
  const isCut = frames.length === 1 && total > 1;
  return { parts: [...parts, ...shown], cut: isCut ? [{ name: param, unit, shown: 1, of: total }] : [] };
}

/** A frame of several with its time. */
function frameParts(
  { bytes, seconds }: VideoFrame,
  count: number,
  mediaBudget: ImageCount,
  param: string,
): readonly ContentPart[] {
  const part = mediaBudget.add(bytes, "image", param);
  return count === 1 || seconds === undefined ? [part] : [{ type: "text", text: frameTime(seconds) }, part];
}

/** The bytes of a medium that no request names, for the engine: of an animation the first frame. Throws ServiceError. */
export async function engineBytes(
  { image, sound }: Converters,
  { type, data }: MediaPart,
  rules: Pick<MediaRules, "edgeMax">,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = Uint8Array.fromBase64(data);
  const { format, isConverted, isForeign } = checkedMedium(bytes, type, rules, type);
  if (!isConverted || (type === "audio" && !isForeign)) return bytes;
  if (type === "audio") return (await sound({ bytes, format, param: type }, AUDIO_SECONDS_MAX, signal)).bytes;
  const { frames } = await image({ bytes, format, param: type }, 1, signal);
  return frames[0]?.bytes ?? bytes;
}

/** Media of a tool, those that can be in a form that the engine reads. */
export async function convertedMedia(
  converters: Converters,
  media: readonly MediaPart[],
  signal: AbortSignal,
): Promise<readonly MediaPart[]> {
  return Promise.all(
    media.map(async (part) => {
      try {
        const bytes = await engineBytes(converters, part, {}, signal);
        return { ...part, data: bytes.toBase64() };
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ServiceError || error instanceof SyntaxError) return part; // a note takes its place
        throw error;
      }
    }),
  );
}
