// Converts images in reader processes, and keeps the latest: clients send a conversation's images again with every turn.

import { createHash } from "node:crypto";
import type { Converters, ConvertedFile, Frames } from "../core/converters.ts";
import { ServiceError } from "../core/error.ts";
import { FORMATS_READ } from "../core/media-file.ts";
import { ReaderFailure, type RunReader } from "../reader/process.ts";
import type { ImageReply } from "../reader/protocol.ts";
import { IMAGES_KEPT_BYTES_MAX, VIDEO_FRAMES_PER_SECOND } from "./limits.ts";

export function imageConverter(run: RunReader): Converters["image"] {
  const kept = new KeptFrames(IMAGES_KEPT_BYTES_MAX);
  return async (file, framesMax, signal) => {
    const key = createHash("sha256").update(file.bytes).update(`${framesMax}`).digest("base64");
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

/** The latest frames, of limited bytes altogether. */
class KeptFrames {
  private readonly values = new Map<string, Frames>(); // the latest last
  private readonly max: number;
  private bytes = 0;

  constructor(max: number) {
    this.max = max;
  }

  find(key: string): Frames | undefined {
    const value = this.values.get(key);
    if (value !== undefined) {
      this.values.delete(key);
      this.values.set(key, value);
    }
    return value;
  }

  set(key: string, value: Frames): void {
    if (this.values.has(key)) return;
    this.values.set(key, value);
    this.bytes += bytesOf(value);
    for (const [oldest, frames] of this.values) {
      if (this.bytes <= this.max) return;
      this.values.delete(oldest);
      this.bytes -= bytesOf(frames);
    }
  }
}

function bytesOf({ frames }: Frames): number {
  return frames.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
}
