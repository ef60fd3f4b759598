// Speech by an upstream: a WAV file, whose samples are passed on in parts.

import type { Caller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import type { SpeakRequest, SpeechEvent } from "../core/speech.ts";
import type { Failure } from "./failure.ts";
import { readBytes } from "./http.ts";
import type { UpstreamServer } from "./server.ts";
import { ask } from "./whole.ts";

/** Sound of a part, seconds. */
const PART_SECS = 10;
/** Offsets within a WAV file's header. */
const HEADER_BYTES = 12;
const CHUNK_HEADER_BYTES = 8;

export async function speakUpstream(
  { text, voice, speed, instructions }: SpeakRequest,
  server: UpstreamServer,
  signal: AbortSignal,
  caller: Caller,
): Promise<readonly SpeechEvent[] | Failure> {
  const body = {
    model: server.options.model,
    input: text,
    response_format: "wav",
    ...voiceOf(server),
    ...defined({ voice, speed, instructions }),
  };
  const call = { path: "/audio/speech", body, isRepeatable: false, caller };
  const wav = await ask(server, call, signal, async (response) => samplesOf(await readBytes(response)));
  if (!("samples" in wav)) return wav;
  const { sampleRate, samples } = wav;
  const step = PART_SECS * sampleRate * 2;
  const parts: SpeechEvent[] = [];
  for (let at = 0; at < samples.byteLength || parts.length === 0; at += step) {
    const audio = samples.slice(at, at + step).toBase64();
    parts.push({ type: "speech", sampleRate, audio, isLast: at + step >= samples.byteLength });
  }
  return parts;
}

/** The API requires a voice; svc and most servers have a default one. */
function voiceOf({ facts }: UpstreamServer): { readonly voice?: string } {
  return facts.isOpenAi ? { voice: "alloy" } : {};
}

/** The samples of a WAV file with one channel of 16 bits; undefined for anything else. */
function samplesOf(
  file: Uint8Array<ArrayBuffer>,
): { readonly sampleRate: number; readonly samples: Uint8Array<ArrayBuffer> } | undefined {
  if (file.byteLength < HEADER_BYTES) return undefined;
  const view = new DataView(file.buffer);
  const word = (at: number): string => String.fromCharCode(...file.subarray(at, at + 4));
  if (word(0) !== "RIFF" || word(8) !== "WAVE") return undefined;
  let sampleRate: number | undefined;
  for (let at = HEADER_BYTES; at + CHUNK_HEADER_BYTES <= file.byteLength;) {
    const size = view.getUint32(at + 4, true);
    const begin = at + CHUNK_HEADER_BYTES;
    if (word(at) === "fmt " && begin + 16 <= file.byteLength) {
      const isPlain = view.getUint16(begin, true) === 1 && view.getUint16(begin + 2, true) === 1;
      if (!isPlain || view.getUint16(begin + 14, true) !== 16) return undefined;
      sampleRate = view.getUint32(begin + 4, true);
    }
    // A streamed file states more than it has.
    if (word(at) === "data") {
      if (sampleRate === undefined) return undefined;
      const length = Math.min(size, file.byteLength - begin);
      return { sampleRate, samples: file.slice(begin, begin + length - (length % 2)) };
    }
    at = begin + size + (size % 2);
  }
  return undefined;
}
