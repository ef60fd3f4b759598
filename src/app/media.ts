// Decoding of media in the composition root: ffmpeg of the search path, in a sandbox of its own, and reader processes.

import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { processEnvironment } from "../config/sources.ts";
import type { Converters } from "../core/converters.ts";
import type { ReadVideo } from "../core/video.ts";
import { type FfmpegPrograms, withFfmpeg } from "../media/ffmpeg.ts";
import { ffmpegSound } from "../media/ffmpeg-sound.ts";
import {
  CONVERSIONS_AT_ONCE,
  CONVERT_MS_MAX,
  VIDEO_CPU_SECS,
  VIDEO_MEMORY_MB,
  VIDEO_PROCS,
} from "../media/limits.ts";
import { documentReader } from "../media/documents.ts";
import { imageConverter } from "../media/images.ts";
import { soundConverter } from "../media/sounds.ts";
import { videoFrames } from "../media/video-frames.ts";
import { readerProcesses } from "../reader/process.ts";
import { openConfined } from "../sandbox/confined.ts";

/** Decodes videos of requests, and converts files that no engine reads. The sandbox is opened for the first one. */
export function mediaReaders(): { readonly readVideo: ReadVideo; readonly converters: Converters } {
  const limits = { memoryMb: VIDEO_MEMORY_MB, cpuSecs: VIDEO_CPU_SECS, procs: VIDEO_PROCS };
  const ffmpeg = withFfmpeg({
    programs: ffmpegPrograms,
    openSandbox: () => openConfined({ program: "ffmpeg", limits, environment: processEnvironment() }),
  });
  const run = readerProcesses({ timeoutMs: CONVERT_MS_MAX, atOnce: CONVERSIONS_AT_ONCE });
  const converters = {
    ...documentReader(run),
    image: imageConverter(run),
    sound: soundConverter(run, ffmpegSound(ffmpeg)),
  };
  return { readVideo: videoFrames(ffmpeg), converters };
}

/** ffmpeg and ffprobe; undefined unless both are installed. */
export function ffmpegPrograms(): FfmpegPrograms | undefined {
  const searchPath = processEnvironment()["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";
  const [ffmpeg, ffprobe] = ["ffmpeg", "ffprobe"].map((name) => Bun.which(name, { PATH: searchPath }));
  if (typeof ffmpeg !== "string" || typeof ffprobe !== "string") return undefined;
  const readPaths = [ffmpeg, ffprobe].flatMap((path) => [dirname(path), dirname(realpathSync(path))]);
  return { ffmpeg, ffprobe, readPaths: [...new Set(readPaths)] };
}
