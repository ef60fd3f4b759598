// Sounds that the engine does not read, or that are longer than a request may have: Ogg in a reader process, the others with ffmpeg.

import type { ConvertedFile, Converters } from "../core/converters.ts";
import { SOUND_RATE } from "../core/limits.ts";
import { FORMATS_READ, mediaFile } from "../core/media-file.ts";
import { wavFile } from "../core/wav.ts";
import { ReaderFailure, type RunReader } from "../reader/process.ts";
import type { SoundReply } from "../reader/protocol.ts";
import { invalid } from "./ffmpeg.ts";

const IN_READER = new Set(["Opus", "Vorbis"]);

export function soundConverter(run: RunReader, others: Converters["sound"]): Converters["sound"] {
  return async (file, secondsMax, signal) => {
    if (!IN_READER.has(file.format)) return others(file, secondsMax, signal);
    const reply = await read(run, file, secondsMax, signal);
    if ("problem" in reply)
      throw problem(file, `cannot be read: it is damaged or cut off; send ${FORMATS_READ.audio}`);
    const known = mediaFile(file.bytes);
    const total = known?.modality === "audio" ? known.seconds : undefined;
    return { bytes: wavFile(Uint8Array.fromBase64(reply.samples), SOUND_RATE), total };
  };
}

async function read(
  run: RunReader,
  file: ConvertedFile,
  secondsMax: number,
  signal: AbortSignal,
): Promise<SoundReply> {
  try {
    return await run("sound", { data: file.bytes.toBase64(), secondsMax }, signal);
  } catch (error) {
    if (!(error instanceof ReaderFailure)) throw error;
    if (!error.isLate) return { problem: "damaged" };
    throw problem(file, "takes too long to decode; send a shorter one");
  }
}

function problem({ param, format }: ConvertedFile, words: string): Error {
  return invalid(param, `is an Ogg file (${format}) that ${words}`);
}
