// Converts images in reader processes, and keeps the latest: clients send a conversation's images again with every turn.

import type { Converters, ConvertedFile, Frames } from "../core/converters.ts";
import { ServiceError } from "../core/error.ts";
import { FORMATS_READ } from "../core/media-file.ts";
import { Recent } from "../core/recent.ts";
import { ReaderFailure, type RunReader } from "../reader/process.ts";
import type { ImageReply } from "../reader/protocol.ts";
import { fileKey } from "./file-key.ts";
import { KEPT_BYTES_MAX, VIDEO_FRAMES_PER_SECOND } from "./limits.ts";

export function imageConverter(run: RunReader): Converters["image"] {
  const kept = new Recent<Frames>(KEPT_BYTES_MAX, ({ frames }) =>
    frames.reduce((sum, { bytes }) => sum + bytes.byteLength, 0),
  );
  return async (file, framesMax, signal) => {
    const key = fileKey(file.bytes, framesMax);
    const known = kept.find(key);
    if (known !== undefined) return known;
    const reply = await read(run, file, framesMax, signal);
    if ("problem" in reply) throw problemOf(file, reply.problem);
    const frames = {
      total: reply.total,
      frames: reply.frames.map(({ png, seconds }) => ({ bytes: Uint8Array.fromBase64(png), seconds })),
    };
    kept.set(key, frames);
    return frames;
  };
}

async function read(
  run: RunReader,
  file: ConvertedFile,
  framesMax: number,
  signal: AbortSignal,
): Promise<ImageReply> {
  const task = { data: file.bytes.toBase64(), framesMax, framesPerSecond: VIDEO_FRAMES_PER_SECOND };
  try {
    return await run("image", task, signal);
  } catch (error) {
    if (!(error instanceof ReaderFailure)) throw error;
    throw error.isLate ? problemOf(file, "tooSlow") : problemOf(file, "damaged");
  }
}

const PROBLEMS: Readonly<Record<Extract<ImageReply, { problem: string }>["problem"] | "tooSlow", string>> = {
  damaged: "cannot be read: it is damaged or cut off",
  unsupported: "has a form that is not read",
  tooLarge: "takes too much memory to decode; send a smaller one",
  tooSlow: "takes too long to decode; send a smaller one",
};

function problemOf({ param, format }: ConvertedFile, problem: keyof typeof PROBLEMS): ServiceError {
  const message = `${param} is a ${format} file that ${PROBLEMS[problem]}; send ${FORMATS_READ.image}`;
  return new ServiceError("invalid_request", message, { param });
}
