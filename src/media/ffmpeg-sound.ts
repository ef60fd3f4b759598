// The sound of a file with the system's ffmpeg, as a WAV file of one channel.

import type { Converters } from "../core/converters.ts";
import { invalidField } from "../core/error.ts";
import { SOUND_RATE } from "../core/limits.ts";
import { FORMATS_READ } from "../core/media-file.ts";
import { WAV_SAMPLE_BYTES, wavFile } from "../core/wav.ts";
import { inputOptions, outputOf, secondsOf, type WithFfmpeg } from "./ffmpeg.ts";

/** Decodes sounds with ffmpeg. */
export function ffmpegSound(run: WithFfmpeg): Converters["sound"] {
  return ({ bytes, format, param }, secondsMax, signal) => {
    const words = {
      kind: `a ${format} file`,
      without: "send WAV, MP3, FLAC or Ogg (Opus, Vorbis), or install ffmpeg on the server",
      undecodable: `is a ${format} file that is damaged, holds no sound, or has a codec that this server's ffmpeg does not decode; send ${FORMATS_READ.audio}`,
    };
    return run(
      { bytes, param, words },
      async (place, aborted) => {
        const total = await secondsOf(place, "a:0", aborted);
        const argv = [place.programs.ffmpeg, "-nostdin", ...inputOptions(place), ...soundOptions(secondsMax)];
        const bytesMax = Math.ceil(secondsMax + 1) * SOUND_RATE * WAV_SAMPLE_BYTES;
        const samples = await outputOf(argv, place, { bytesMax, signal: aborted });
        if (samples.byteLength === 0) throw invalidField(param, words.undecodable);
        return { bytes: wavFile(samples, SOUND_RATE), total: total > 0 ? total : undefined };
      },
      signal,
    );
  };
}

function soundOptions(secondsMax: number): readonly string[] {
  return `-map 0:a:0 -t ${secondsMax} -ac 1 -ar ${SOUND_RATE} -f s16le -c:a pcm_s16le pipe:1`.split(" ");
}
