// Converts images in reader processes.

import type { ConvertedFile, Converters, Frames } from "../core/converters.ts";
import { ServiceError } from "../core/error.ts";
import { FORMATS_READ } from "../core/media-file.ts";
import type { RunReader } from "../reader/process.ts";
import { convertingOnce, replyOf } from "./converting.ts";
import { VIDEO_FRAMES_PER_SECOND } from "./limits.ts";

export function imageConverter(run: RunReader): Converters["image"] {
  const bytesOf = ({ frames }: Frames): number =>
    frames.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  return convertingOnce(bytesOf, async (file, framesMax, signal) => {
    const task = { data: file.bytes.toBase64(), framesMax, framesPerSecond: VIDEO_FRAMES_PER_SECOND };
    const reply = await replyOf(run, "image", task, signal);
    if ("problem" in reply) throw problemOf(file, reply.problem);
    return {
      total: reply.total,
      frames: reply.frames.map(({ png, seconds }) => ({ bytes: Uint8Array.fromBase64(png), seconds })),
    };
  });
}

const DAMAGED = "cannot be read: it is damaged or cut off";
const PROBLEMS = {
  damaged: DAMAGED,
  died: DAMAGED,
  unsupported: "has a form that is not read",
  tooLarge: "takes too much memory to decode; send a smaller one",
  tooSlow: "takes too long to decode; send a smaller one",
} as const;

function problemOf({ param, format }: ConvertedFile, problem: keyof typeof PROBLEMS): ServiceError {
  const message = `${param} is a ${format} file that ${PROBLEMS[problem]}; send ${FORMATS_READ.image}`;
  return new ServiceError("invalid_request", message, { param });
}
