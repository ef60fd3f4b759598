// What an engine process does for a speech model: speaks piece after piece while there is work. Reads messages between
// pieces only.

import { NATIVE, unpackSpeech } from "../../ffi/embedded.ts";
import { FliteVoice } from "../../ffi/flite.ts";
import { openSpeech } from "../../ffi/library.ts";
import type { EngineInfo, SpeechOptions, ToEngine } from "../engine/protocol.ts";
import { Speaker } from "./speaker.ts";
import { ENGLISH, type Reading } from "./speech-reading.ts";
import type { SpeechBackend } from "./speech-backend.ts";
import { type EngineWork, send, sendFailure } from "./work.ts";

interface Loaded {
  readonly voice: SpeechBackend;
  readonly reading: Reading;
  readonly info: EngineInfo;
}

function load({ voice: { name }, cacheDir }: SpeechOptions): Loaded {
  const voice = new FliteVoice(openSpeech(unpackSpeech(cacheDir)), name);
  const sizeBytes = NATIVE.archives["speech.zst"]?.bytes ?? 0;
  const info = {
    kind: "speech",
    architecture: "flite",
    description: `flite voice ${name}`,
    sizeBytes,
    threads: 1,
  } as const;
  return { voice, reading: ENGLISH, info };
}

/** Speeches of one voice. */
export class SpeechWork implements EngineWork {
  private readonly options: SpeechOptions;
  private speaker: Speaker | undefined;
  private stopping = false;
  private wake: (() => void) | undefined;

  constructor(options: SpeechOptions) {
    this.options = options;
  }

  async run(): Promise<void> {
    this.load();
    while (!this.stopping) {
      const hasWorked = this.speaker?.step() ?? false;
      if (hasWorked) await new Promise((resolve) => setImmediate(resolve));
      else await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }

  receive(message: ToEngine): void {
    const { type } = message; // those that are missing here are for engines of other kinds
    if (type === "speak") this.speaker?.add(message.id, message.request.text);
    if (type === "speak_on") this.speaker?.more(message.id);
    if (type === "abort") this.speaker?.abort(message.id);
    this.stopping ||= type === "stop";
    this.wake?.();
  }

  private load(): void {
    try {
      const { voice, reading, info } = load(this.options);
      this.speaker = new Speaker(voice, reading, (id, event) =>
        send({ type: "events", runs: [id], events: [event] }),
      );
      send({ type: "ready", info });
    } catch (error) {
      sendFailure(error);
    }
  }
}
