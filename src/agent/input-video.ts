// Videos in messages: their frames take their place, as images with the times between them.

import type { FileSource, NamedMedia } from "../core/agent.ts";
import type { Converters } from "../core/converters.ts";
import { ServiceError } from "../core/error.ts";
import { VIDEO_MARKER } from "../core/input-file.ts";
import { MEDIA_BYTES_MAX } from "../core/limits.ts";
import { checkedVideo, type MediaRules } from "../core/media.ts";
import type { ContentPart } from "../core/message.ts";
import { frameTime, type ReadVideo, type VideoFrame } from "../core/video.ts";
import type { MediaBudget } from "./input-media.ts";
import { decodeInline, joined } from "./source-bytes.ts";

/** Frames that the sender chose, base64 of JPEG files with commas between them, as vLLM takes them. */
const FRAMES_URL = /^data:video\/jpeg;base64,/i;

/** Parts that stand for a video. `bytes` is called for a video file, not for single frames. */
export async function videoParts(
  { readVideo, converters }: { readonly readVideo: ReadVideo; readonly converters: Converters },
  { source, param }: NamedMedia,
  {
    bytes,
    rules,
    mediaBudget,
  }: {
    readonly bytes: () => Promise<Uint8Array<ArrayBuffer>>;
    readonly rules: MediaRules;
    readonly mediaBudget: MediaBudget;
  },
  signal: AbortSignal,
): Promise<readonly ContentPart[]> {
  const { videoFramesMax: framesMax, edgeMax } = rules;
  let frames = chosenFrames(source, param, framesMax);
  if (frames === undefined) {
    const file = await bytes();
    const { format, isImage } = checkedVideo(file, param);
    const bounds = { framesMax, param, ...(edgeMax === undefined ? {} : { edgeMax }) };
    frames = isImage
      ? (await converters.image({ bytes: file, format, param }, framesMax, signal)).frames
      : await readVideo(file, bounds, signal);
  }
  const images = frames.flatMap(({ bytes: image, seconds }): readonly ContentPart[] => {
    const part = mediaBudget.add(image, "image", param);
    return seconds === undefined ? [part] : [{ type: "text", text: frameTime(seconds) }, part];
  });
  return [VIDEO_MARKER, ...images];
}

function chosenFrames(
  source: FileSource,
  param: string,
  framesMax: number,
): readonly VideoFrame[] | undefined {
  if (source.type !== "inline" || !FRAMES_URL.test(source.data.slice(0, 32))) return undefined;
  const files = source.data.replace(FRAMES_URL, "").split(",", framesMax + 1);
  if (files.length > framesMax) {
    const message = `${param} has more than ${framesMax} frames; send fewer`;
    throw new ServiceError("invalid_request", message, { param });
  }
  const bounds = { param, bytesMax: MEDIA_BYTES_MAX };
  return files.map((file) => ({ bytes: joined(decodeInline(file, bounds).pieces) }));
}
