// Writes speech while it is synthesized: parts in, Response out. Pull-based, so a client that reads slowly slows its own speech,
// and at most one part waits here. After the first byte an error has no status: the connection is closed, so that a
// truncated speech does not pass for a complete one.

import { ServiceError } from "../core/error.ts";
import type { SpeechEvent } from "../core/speech.ts";
import { wavHeader } from "../core/wav.ts";
import type { SpeechFormat } from "../dialects/speech/request.ts";
import type { LogLine } from "./errors.ts";
import { observed } from "./observe.ts";
import { cancelled } from "./run.ts";

/** How many samples a second a body has. */
export const SAMPLE_RATE_HEADER = "x-audio-sample-rate";

const MIME_TYPES: Readonly<Record<SpeechFormat, string>> = { wav: "audio/wav", pcm: "audio/pcm" };

type Part = Extract<SpeechEvent, { type: "speech" }>;

export interface AudioOptions {
  readonly format: SpeechFormat;
  /** Aborted when the client disconnects; the speech run listens to its signal. */
  readonly abort: AbortController;
  readonly log: LogLine;
}

/** Waits for the first part, which decides the status. Throws the ServiceError of a speech that is refused. */
export async function audioResponse(
  events: AsyncIterator<SpeechEvent>,
  { format, abort, log }: AudioOptions,
): Promise<Response> {
  const first = await nextPart(events);
  if (first === undefined || abort.signal.aborted) {
    await events.return?.();
    throw cancelled();
  }
  const bytes = Buffer.from(first.audio, "base64");
  const headers = {
    "content-type": MIME_TYPES[format],
    [SAMPLE_RATE_HEADER]: String(first.sampleRate),
    "cache-control": "no-cache",
    "x-accel-buffering": "no", // asks a reverse proxy to pass parts on at once
  };
  const known = first.isLast ? bytes.byteLength : undefined;
  const head = format === "wav" ? wavHeader(first.sampleRate, known) : new Uint8Array();
  const begin = Buffer.concat([head, bytes]);
  observed()?.spoke(secondsOf(first));
  if (first.isLast) {
    await events.return?.();
    return new Response(begin, { headers });
  }
  return new Response(streamOf(begin, events, { abort, log }), { headers });
}

function streamOf(
  begin: Uint8Array<ArrayBuffer>,
  events: AsyncIterator<SpeechEvent>,
  { abort, log }: Pick<AudioOptions, "abort" | "log">,
): ReadableStream<Uint8Array> {
  const seen = observed();
  seen?.streamBegin();
  let hasBegun = false;
  const end = (clientLeft: boolean): void => {
    seen?.streamEnd(clientLeft);
    abort.abort();
  };
  // Also for a client that leaves before it reads anything: then no pull or cancel arrives.
  abort.signal.addEventListener("abort", () => void events.return?.(), { once: true });
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const send = (bytes: Uint8Array): void => {
          seen?.streamSent(bytes);
          controller.enqueue(bytes);
        };
        if (!hasBegun) {
          hasBegun = true;
          return send(begin);
        }
        try {
          const part = await nextPart(events);
          if (part === undefined) return; // the client has left
          seen?.spoke(secondsOf(part));
          send(Buffer.from(part.audio, "base64"));
          if (!part.isLast) return;
        } catch (thrown) {
          const error = thrown instanceof ServiceError ? thrown : undefined;
          seen?.streamFailed(error?.code ?? "internal_error");
          log(`${seen?.id} the speech stream failed: ${error?.message ?? String(thrown)}`);
          end(false);
          throw thrown;
        }
        end(false);
        controller.close();
      },
      cancel: () => end(true),
    },
    { highWaterMark: 0 },
  );
}

/** Undefined when the client has left. Throws the ServiceError that a speech ends with. */
async function nextPart(events: AsyncIterator<SpeechEvent>): Promise<Part | undefined> {
  const next = await events.next();
  if (next.done === true) return undefined;
  if (next.value.type === "speech") return next.value;
  await events.return?.(); // lets the engine's side clean up before the answer
  throw ServiceError.fromData(next.value.error);
}

/** From the length of its samples of two bytes, three of which are four characters of base64. */
function secondsOf({ audio, sampleRate }: Part): number {
  return Buffer.byteLength(audio, "base64") / 2 / sampleRate;
}
