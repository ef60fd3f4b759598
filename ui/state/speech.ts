// What is being spoken: one text at a time, on the page for speech or of an answer.

import { signal } from "@preact/signals";
import { messageOf } from "../api/client.ts";
import { speakText } from "../api/media.ts";
import { PcmPlayer } from "./pcm-player.ts";
import { prefs } from "./prefs.ts";
import { notify } from "./toasts.ts";
import { wavFile } from "./wav.ts";

export interface Speech {
  /** Whose text it is: an answer's id, or a name of a page's own. */
  readonly owner: string;
  /** waiting: nothing has come yet. speaking: it is heard, and more may come. The others are over. */
  readonly state: "waiting" | "speaking" | "done" | "stopped" | "failed";
  /** How much has come, seconds. */
  readonly secs: number;
  /** All of it, once it has come. */
  readonly file?: Blob;
  readonly error?: string;
}

export const speech = signal<Speech | undefined>(undefined);

let abort: AbortController | undefined;

/** Whether something is being spoken, of an owner or at all. */
export function isSpeaking(owner?: string): boolean {
  const now = speech.value;
  if (now === undefined || (owner !== undefined && now.owner !== owner)) return false;
  return now.state === "waiting" || now.state === "speaking";
}

/** Speaks a text with the chosen voice, in place of what was being spoken. Call it from a person's click. */
export async function speak(owner: string, text: string): Promise<void> {
  stopSpeaking();
  const stopping = new AbortController();
  abort = stopping;
  const player = new PcmPlayer(); // at once: browsers let pages sound only after a click
  const { signal: stopped } = stopping;
  stopped.addEventListener("abort", () => player.close());
  const tell = (part: Partial<Speech>): void => {
    if (abort === stopping) speech.value = { owner, state: "waiting", secs: 0, ...speech.value, ...part };
  };
  speech.value = { owner, state: "waiting", secs: 0 };
  try {
    const model = prefs.value.voice;
    const { rate, chunks } = await speakText({ input: text, ...(model === "" ? {} : { model }) }, stopped);
    const heard: Uint8Array<ArrayBuffer>[] = [];
    for await (const chunk of bytesOf(chunks)) {
      heard.push(chunk);
      tell({ state: "speaking", secs: player.push(chunk, rate) });
    }
    tell({ file: wavFile(heard, rate) });
    await player.ended();
    tell({ state: stopped.aborted ? "stopped" : "done" });
  } catch (error) {
    if (stopped.aborted) return tell({ state: "stopped" });
    tell({ state: "failed", error: messageOf(error) });
  } finally {
    player.close();
  }
}

export function stopSpeaking(): void {
  abort?.abort();
}

/** Speaks an answer, or stops doing so. What goes wrong is told in a notice. */
export async function toggleReading(owner: string, text: string): Promise<void> {
  if (isSpeaking(owner)) return stopSpeaking();
  await speak(owner, text);
  const { state, error } = speech.value ?? {};
  if (state === "failed" && speech.value?.owner === owner) notify(`It could not be read aloud: ${error}`);
}

/** Safari's streams are no async iterables. */
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
    await reader.cancel().catch(() => undefined); // it may have failed already
  }
}
