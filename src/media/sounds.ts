// Sounds that the engine does not read, or would take less of than is in them: Ogg, WAV, MP3 and FLAC in a reader process, the others with ffmpeg.

import type { ConvertedFile, Converters, Sound } from "../core/converters.ts";
import { SOUND_RATE } from "../core/limits.ts";
import { FORMATS_READ, mediaFile } from "../core/media-file.ts";
import { Recent } from "../core/recent.ts";
import { WAV_SAMPLE_BYTES, wavFile } from "../core/wav.ts";
import { ReaderFailure, type RunReader } from "../reader/process.ts";
import type { SoundReply } from "../reader/protocol.ts";
import { invalid } from "./ffmpeg.ts";
import { fileKey } from "./file-key.ts";
import { KEPT_BYTES_MAX } from "./limits.ts";

/** What a reader process decodes; WAV with packed samples is not. */
const IN_READER = new Set(["Opus", "Vorbis", "WAV", "MP3", "FLAC"]);

export function soundConverter(run: RunReader, others: Converters["sound"]): Converters["sound"] {
  const kept = new Recent<Sound>(KEPT_BYTES_MAX, ({ bytes }) => bytes.byteLength);
  const converted = async (file: ConvertedFile, secondsMax: number, signal: AbortSignal): Promise<Sound> => {
    const known = mediaFile(file.bytes);
    const isPacked = file.format === "WAV" && known?.modality === "audio" && known.isForeign === true;
    if (!IN_READER.has(file.format) || isPacked) return others(file, secondsMax, signal);
    const reply = await read(run, file, secondsMax, signal);
    if ("problem" in reply)
      throw problem(file, `cannot be read: it is damaged or cut off; send ${FORMATS_READ.audio}`);
    const samples = Uint8Array.fromBase64(reply.samples);
    const isCut = samples.byteLength >= Math.floor(secondsMax * SOUND_RATE) * WAV_SAMPLE_BYTES;
    const total = isCut && known?.modality === "audio" ? known.seconds : undefined;
    return { bytes: wavFile(samples, SOUND_RATE), total };
  };
  return async (file, secondsMax, signal) => {
    const key = fileKey(file.bytes, secondsMax);
    const known = kept.find(key);
    if (known !== undefined) return known;
    const sound = await converted(file, secondsMax, signal);
    kept.set(key, sound);
    return sound;
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
  return invalid(param, `is ${nameOf(format)} file that ${words}`);
}

/** Opus and Vorbis are sounds in Ogg files. */
function nameOf(format: string): string {
  return format === "Opus" || format === "Vorbis" ? `an Ogg (${format})` : `a ${format}`;
}
