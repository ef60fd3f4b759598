// Speech playback: one text at a time, from the speech page or from an answer.

import { signal } from "@preact/signals";
import { messageOf } from "../api/client.ts";
import { speakText } from "../api/media.ts";
import { PcmPlayer } from "./pcm-player.ts";
import { prefs } from "./prefs.ts";
import { notify } from "./toasts.ts";
import { wavFile } from "./wav.ts";
import { t } from "../texts/texts.ts";

export interface Speech {
  /** Source of the text: the id of an answer, or a name used by a page. */
  readonly owner: string;
  /** waiting: no audio yet. speaking: audio is playing, and more may arrive. The other states are final. */
  readonly state: "waiting" | "speaking" | "done" | "stopped" | "failed";
  /** Audio received so far, seconds. */
  readonly secs: number;
  /** The complete audio, once received. */
  readonly file?: Blob;
  readonly error?: string;
}

export const speech = signal<Speech | undefined>(undefined);

let abort: AbortController | undefined;

/** Whether speech is playing, of one owner or of any. */
export function isSpeaking(owner?: string): boolean {
  const now = speech.value;
  if (now === undefined || (owner !== undefined && now.owner !== owner)) return false;
  return now.state === "waiting" || now.state === "speaking";
}

/** Speaks a text with the selected voice, replacing the current speech. Must be called from a click handler. */
export async function speak(owner: string, text: string): Promise<void> {
  stopSpeaking();
  const stopping = new AbortController();
  abort = stopping;
  const player = new PcmPlayer(); // before any await: browsers allow audio only in response to a click
  const { signal: stopped } = stopping;
  stopped.addEventListener("abort", () => player.close());
  const update = (part: Partial<Speech>): void => {
    if (abort === stopping) speech.value = { owner, state: "waiting", secs: 0, ...speech.value, ...part };
  };
  speech.value = { owner, state: "waiting", secs: 0 };
  try {
    const model = prefs.value.voice;
    const { rate, chunks } = await speakText({ input: text, ...(model === "" ? {} : { model }) }, stopped);
    const received: Uint8Array<ArrayBuffer>[] = [];
    for await (const chunk of bytesOf(chunks)) {
      received.push(chunk);
      update({ state: "speaking", secs: player.push(chunk, rate) });
    }
    update({ file: wavFile(received, rate) });
    await player.ended();
    update({ state: stopped.aborted ? "stopped" : "done" });
  } catch (error) {
    if (stopped.aborted) return update({ state: "stopped" });
    update({ state: "failed", error: messageOf(error) });
  } finally {
    player.close();
  }
}

export function stopSpeaking(): void {
  abort?.abort();
}

/** Starts or stops reading an answer aloud. Errors are shown as notices. */
export async function toggleReading(owner: string, text: string): Promise<void> {
  if (isSpeaking(owner)) return stopSpeaking();
  await speak(owner, text);
  const { state, error } = speech.value ?? {};
  if (state === "failed" && speech.value?.owner === owner) notify(t.errors.notRead(error ?? ""));
}

/** Chunks of a stream. Safari's streams are not async iterable. */
async function* bytesOf(
  chunks: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = chunks.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined); // the stream may have failed already
  }
}
