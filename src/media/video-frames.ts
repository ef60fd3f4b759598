// Frames of a video with the system's ffmpeg. Knows no model.

import { invalidField } from "../core/error.ts";
import type { ReadVideo } from "../core/video.ts";
import { inputOptions, outputOf, secondsOf, type WithFfmpeg } from "./ffmpeg.ts";
import { jpegs } from "./jpegs.ts";
import {
  VIDEO_EDGE_MAX,
  VIDEO_FRAMES_BYTES_MAX,
  VIDEO_FRAMES_PER_SECOND,
  VIDEO_SECONDS_MAX,
} from "./limits.ts";

const WORDS = {
  kind: "a video",
  without: "send single frames as images, or data:video/jpeg;base64,FRAME,FRAME,…",
  undecodable:
    "is damaged, holds no video, or has a codec that this server's ffmpeg does not decode; send MP4 with H.264, or WebM",
} as const;

/** Decodes videos with ffmpeg. */
export function videoFrames(run: WithFfmpeg): ReadVideo {
  return (bytes, { param, framesMax, edgeMax = VIDEO_EDGE_MAX }, signal) => {
    const file = { bytes, param, words: WORDS };
    return run(
      file,
      async (place, aborted) => {
        const duration = await secondsOf(place, "v:0", aborted);
        if (duration > VIDEO_SECONDS_MAX)
          throw invalidField(
            param,
            `has ${Math.ceil(duration)} seconds; at most ${VIDEO_SECONDS_MAX} are accepted`,
          );
        const wanted = Math.max(1, Math.ceil(duration * VIDEO_FRAMES_PER_SECOND));
        const count = Math.min(framesMax, wanted);
        const rate = duration > 0 ? count / duration : 1;
        const edge = Math.min(VIDEO_EDGE_MAX, edgeMax);
        const argv = [place.programs.ffmpeg, "-nostdin", ...inputOptions(place)];
        const output = await outputOf([...argv, ...framesOptions(rate, count, edge)], place, {
          bytesMax: VIDEO_FRAMES_BYTES_MAX,
          signal: aborted,
        });
        const frames = jpegs(output);
        if (frames.length === 0) throw invalidField(param, WORDS.undecodable);
        return frames.map((frame, index) => ({ bytes: frame, seconds: index / rate }));
      },
      signal,
    );
  };
}

function framesOptions(rate: number, count: number, edge: number): readonly string[] {
  const bound = (side: string): string => `'min(${edge},${side})'`;
  const scale = `scale=w=${bound("iw")}:h=${bound("ih")}:force_original_aspect_ratio=decrease`;
  const filters = `fps=${rate.toFixed(6)},${scale}`;
  return `-map 0:v:0 -frames:v ${count} -f image2pipe -c:v mjpeg -q:v 2 -vf ${filters} pipe:1`.split(" ");
}
