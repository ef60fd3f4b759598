// The engine process of a speech model: synthesizes texts piece by piece. Messages are read between pieces only.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { leaveCrashesToParent } from "../../../ffi/linux/crash-signals.ts";
import { archiveNamed, unpackSpeech } from "../../../ffi/embedded.ts";
import { FliteVoice } from "../../../ffi/speech/flite.ts";
import { openSpeech } from "../../../ffi/library.ts";
import { SherpaVoice } from "../../../ffi/speech/sherpa.ts";
import { defaultThreads } from "../../../ffi/linux/usable-cores.ts";
import type { EngineInfo, SpeechOptions } from "../../engine/protocol.ts";
import { NeuralVoice } from "./neural.ts";
import { Speaker } from "./speaker.ts";
import { ENGLISH, type Reading, VERBATIM } from "./reading.ts";
import type { SpeechBackend } from "./backend.ts";
import { type EngineWork, send, sendFailure, type WorkMessage } from "../shared/work.ts";

interface Loaded {
  readonly voice: SpeechBackend;
  readonly reading: Reading;
  readonly info: EngineInfo;
}

async function load({ voice: source, cacheDir, threads = defaultThreads() }: SpeechOptions): Promise<Loaded> {
  if (source.type === "neural") {
    const { openOnnx } = await import("../../../ffi/speech/onnx.ts"); // other voices do without it
    const voice = await NeuralVoice.open({ ...source, open: openOnnx });
    return { voice, reading: ENGLISH, info: infoOf("hibari", folderBytes(source.folder), 1) };
  }
  if (source.type === "sherpa") {
    const voice = new SherpaVoice({ ...source, threads });
    return { voice, reading: VERBATIM, info: infoOf("sherpa-onnx", folderBytes(source.folder), threads) };
  }
  const voice = new FliteVoice(openSpeech(unpackSpeech(cacheDir)), source.name);
  return { voice, reading: ENGLISH, info: infoOf("flite", archiveNamed("speech.zst").bytes, 1) };
}

function infoOf(architecture: string, sizeBytes: number, threads: number): EngineInfo {
  return { kind: "speech", architecture, description: `a voice for ${architecture}`, sizeBytes, threads };
}

function folderBytes(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

/** Speech requests of one voice. */
export class SpeechWork implements EngineWork {
  private readonly options: SpeechOptions;
  private speaker: Speaker | undefined;
  private stopping = false;
  private wake: (() => void) | undefined;

  constructor(options: SpeechOptions) {
    this.options = options;
  }

  async run(): Promise<number> {
    leaveCrashesToParent();
    await this.load();
    while (!this.stopping) {
      const hasWorked = (await this.speaker?.step()) ?? false;
      if (hasWorked) await new Promise((resolve) => setImmediate(resolve));
      else await new Promise<void>((resolve) => (this.wake = resolve));
    }
    return 0;
  }

  receive(message: WorkMessage): void {
    const { type } = message; // other types are for other kinds of models
    if (type === "speak") this.speaker?.add(message.id, message.request);
    if (type === "speak_on") this.speaker?.more(message.id);
    if (type === "abort") this.speaker?.abort(message.id);
    this.stopping ||= type === "stop";
    this.wake?.();
  }

  private async load(): Promise<void> {
    try {
      const { voice, reading, info } = await load(this.options);
      this.speaker = new Speaker(voice, reading, (id, event) =>
        send({ type: "events", runs: [id], events: [event] }),
      );
      send({ type: "ready", info });
    } catch (error) {
      sendFailure(error);
    }
  }
}
