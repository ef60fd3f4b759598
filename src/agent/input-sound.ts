// A sound of a request becomes one that the engine reads, no longer than the request may have.

import { beginningOf } from "../core/audio-file.ts";
import type { Converters, Sound } from "../core/converters.ts";
import { MEDIA_BYTES_MAX, SOUND_RATE } from "../core/limits.ts";
import { checkedMedium, type MediaRules } from "../core/media.ts";
import type { MediaPart } from "../core/message.ts";
import { WAV_HEADER_BYTES, WAV_SAMPLE_BYTES } from "../core/wav.ts";
import type { PerceivedParts } from "./input-image.ts";

/** Shorter ones say nothing, seconds. */
const SECONDS_MIN = 0.1;
/** What a converted sound can have, seconds. */
const CONVERTED_SECONDS_MAX = Math.floor(
  (MEDIA_BYTES_MAX - WAV_HEADER_BYTES) / (SOUND_RATE * WAV_SAMPLE_BYTES),
);

/** What counts the seconds of a request. */
interface SecondCount {
  secondsLeft(): number;
  bytesLeft(): number;
  add(bytes: Uint8Array<ArrayBuffer>, modality: "audio", param: string): MediaPart;
}

export interface SoundPlace {
  readonly rules: MediaRules;
  readonly mediaBudget: SecondCount;
}

interface NamedSound {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly param: string;
}

/** Parts that stand for a sound; the beginning of one that is too long. Throws ServiceError, naming the field. */
export async function soundParts(
  { sound }: Converters,
  { bytes, param }: NamedSound,
  { rules, mediaBudget }: SoundPlace,
  signal: AbortSignal,
): Promise<PerceivedParts> {
  const { format, isForeign, isConverted, seconds } = checkedMedium(bytes, "audio", rules, param);
  const left = mediaBudget.secondsLeft();
  const most = Math.min(CONVERTED_SECONDS_MAX, mediaBudget.bytesLeft() / (SOUND_RATE * WAV_SAMPLE_BYTES) - 1);
  const isRead = !isConverted || (!isForeign && Math.min(seconds, left) > most);
  if (isRead && (seconds <= left || left < SECONDS_MIN))
    return { parts: [mediaBudget.add(bytes, "audio", param)], cut: [] };
  const secondsMax = Math.max(SECONDS_MIN, Math.min(left, CONVERTED_SECONDS_MAX));
  const short = isRead ? beginningOf(bytes, left) : undefined;
  const file = { bytes, format, param };
  const taken: Sound =
    short === undefined ? await sound(file, secondsMax, signal) : { bytes: short, total: seconds };
  const part = mediaBudget.add(taken.bytes, "audio", param);
  const shown = checkedMedium(taken.bytes, "audio", rules, param).seconds;
  return { parts: [part], cut: cutOf(param, shown, taken.total ?? 0) };
}

/** Encoders fill their last frame, so that the ends differ a little. */
const ENDS_DIFFER_SECONDS = 0.1;

function cutOf(name: string, shown: number, total: number): PerceivedParts["cut"] {
  if (total - shown <= ENDS_DIFFER_SECONDS) return [];
  const tenths = (seconds: number): number => Math.round(seconds * 10) / 10;
  return [{ name, unit: "seconds", shown: tenths(shown), of: tenths(total) }];
}
