// Sounds that the engine does not read, or would take less of than is in them: Ogg, WAV, MP3 and FLAC in a reader process, the others with ffmpeg.

import type { Converters, Sound } from "../core/converters.ts";
import { invalidField } from "../core/error.ts";
import { SOUND_RATE } from "../core/limits.ts";
import { FORMATS_READ, mediaFile } from "../core/media-file.ts";
import { WAV_SAMPLE_BYTES, wavFile } from "../core/wav.ts";
import type { RunReader } from "../reader/process.ts";
import { convertingOnce, replyOf } from "./converting.ts";

/** What a reader process decodes; WAV with packed samples is not. */
const IN_READER = new Set(["Opus", "Vorbis", "WAV", "MP3", "FLAC"]);

const DAMAGED = `cannot be read: it is damaged or cut off; send ${FORMATS_READ.audio}`;
const PROBLEMS = {
  damaged: DAMAGED,
  died: DAMAGED,
  tooSlow: "takes too long to decode; send a shorter one",
} as const;

export function soundConverter(run: RunReader, others: Converters["sound"]): Converters["sound"] {
  const bytesOf = ({ bytes }: Sound): number => bytes.byteLength;
  return convertingOnce(bytesOf, async (file, secondsMax, signal) => {
    const known = mediaFile(file.bytes);
    const isPacked = file.format === "WAV" && known?.modality === "audio" && known.isForeign === true;
    if (!IN_READER.has(file.format) || isPacked) return others(file, secondsMax, signal);
    const reply = await replyOf(run, "sound", { data: file.bytes.toBase64(), secondsMax }, signal);
    if ("problem" in reply)
      throw invalidField(file.param, `is ${nameOf(file.format)} file that ${PROBLEMS[reply.problem]}`);
    const samples = Uint8Array.fromBase64(reply.samples);
    const isCut = samples.byteLength >= Math.floor(secondsMax * SOUND_RATE) * WAV_SAMPLE_BYTES;
    const total = isCut && known?.modality === "audio" ? known.seconds : undefined;
    return { bytes: wavFile(samples, SOUND_RATE), total };
  });
}

/** Opus and Vorbis are sounds in Ogg files. */
function nameOf(format: string): string {
  return format === "Opus" || format === "Vorbis" ? `an Ogg (${format})` : `a ${format}`;
}
