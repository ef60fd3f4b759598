// Records a message with the microphone, as an audio file. Browsers offer the microphone in secure contexts only: HTTPS, or this
// machine.

import { t } from "../texts/texts.ts";

/** Longest capture, milliseconds: its WAV stays far below the limit of attachments. */
const LENGTH_MS_MAX = 10 * 60 * 1000;

/** A running capture. */
export interface Capture {
  /** Ends it, and the use of the microphone. */
  stop(): void;
  /** The recorded file, once it has ended. */
  readonly file: Promise<File>;
}

/** Why the microphone cannot be used on this page; undefined if it can. */
function microphoneProblem(): string | undefined {
  // Absent in insecure contexts, which the types do not say.
  if ((navigator.mediaDevices as MediaDevices | undefined) !== undefined) return undefined;
  return isSecureContext ? t.microphone.none : t.microphone.insecure;
}

/** Asks for the microphone and starts to record. Throws an Error with a message for display. */
export async function startCapture(): Promise<Capture> {
  const problem = microphoneProblem();
  if (problem !== undefined) throw new Error(problem);
  const stream = await openMicrophone();
  const recorder = new MediaRecorder(stream);
  const pieces: Blob[] = [];
  const { promise, resolve } = Promise.withResolvers<File>();
  const timer = setTimeout(() => recorder.stop(), LENGTH_MS_MAX);
  recorder.addEventListener("dataavailable", ({ data }) => pieces.push(data));
  recorder.addEventListener("stop", () => {
    clearTimeout(timer);
    for (const track of stream.getTracks()) track.stop();
    const type = recorder.mimeType === "" ? "audio/webm" : recorder.mimeType;
    resolve(
      new File(pieces, `audio.${/^audio\/(?<kind>\w+)/.exec(type)?.groups?.["kind"] ?? "webm"}`, {
        type,
      }),
    );
  });
  recorder.start();
  return {
    stop: () => {
      if (recorder.state !== "inactive") recorder.stop();
    },
    file: promise,
  };
}

async function openMicrophone(): Promise<MediaStream> {
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: true });
  } catch (error) {
    const isRefused = error instanceof DOMException && error.name === "NotAllowedError";
    const why = isRefused ? t.microphone.refused : t.microphone.notFound;
    throw new Error(why, { cause: error });
  }
}
