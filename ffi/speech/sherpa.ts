// Voices of an operator's own sherpa-onnx library, which svc neither contains nor links. Its C interface takes structs by
// pointer, laid out here for the known releases. The library ends the process on invalid input, so the process must hold
// nothing but a voice.

import { read, toArrayBuffer, type Pointer } from "bun:ffi";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../src/core/error.ts";
import { chooseVoiceFiles } from "../../src/core/voice-files.ts";
import type { SpeechBackend } from "../../src/worker/speech/backend.ts";
import { openSherpa, type SherpaNative } from "../library.ts";
import { Struct } from "../struct.ts";
import { cText, type Handle, nativeText } from "../text.ts";

/** Releases with the layout below. */
const RELEASE = /^1\.13\./;

/** SherpaOnnxOfflineTtsConfig: size and offsets of its members, bytes. Zero members have their defaults. */
const CONFIG_BYTES = 448;
const CONFIG = {
  model: 0,
  lexicon: 8,
  tokens: 16,
  dataDir: 24,
  noiseScale: 32,
  noiseScaleW: 36,
  lengthScale: 40,
  threads: 56,
  provider: 64,
  sentencesMax: 424,
  silenceScale: 440,
} as const;

/** SherpaOnnxGeneratedAudio. */
const AUDIO = { samples: 0, count: 8 } as const;

export interface SherpaOptions {
  /** Path of libsherpa-onnx-c-api.so. */
  readonly library: string;
  /** Folder with the voice. */
  readonly folder: string;
  readonly threads: number;
}

export class SherpaVoice implements SpeechBackend {
  readonly sampleRate: number;
  private readonly native: SherpaNative;
  private readonly voice: Handle;

  /** Throws the reason if the library returns one; otherwise the library ends the process. */
  constructor({ library, folder, threads }: SherpaOptions) {
    const native = openSherpa(library);
    const version = nativeText(native.SherpaOnnxGetVersionStr());
    if (!RELEASE.test(version)) throw new Error(`sherpa-onnx ${version} is not supported; install 1.13`);
    const files = chooseVoiceFiles(readdirSync(folder));
    if (typeof files === "string") throw new Error(`the folder of the voice cannot be used: ${files}`);
    const config = new Struct(CONFIG_BYTES);
    config.text(CONFIG.model, join(folder, files.model));
    config.text(CONFIG.tokens, join(folder, files.tokens));
    if (files.lexicon !== undefined) config.text(CONFIG.lexicon, join(folder, files.lexicon));
    if (files.dataDir !== undefined) config.text(CONFIG.dataDir, join(folder, files.dataDir));
    config.f32(CONFIG.noiseScale, 0.667); // these are VITS's own values
    config.f32(CONFIG.noiseScaleW, 0.8);
    config.f32(CONFIG.lengthScale, 1);
    config.i32(CONFIG.threads, threads);
    config.text(CONFIG.provider, "cpu");
    config.i32(CONFIG.sentencesMax, 1);
    config.f32(CONFIG.silenceScale, 0.2);
    const voice = native.SherpaOnnxCreateOfflineTts(config.bytes);
    if (voice === null) throw new Error("sherpa-onnx could not load the voice; its own messages are above");
    this.native = native;
    this.voice = voice;
    this.sampleRate = native.SherpaOnnxOfflineTtsSampleRate(voice);
  }

  say(text: string): Int16Array {
    const { native } = this;
    const audio = native.SherpaOnnxOfflineTtsGenerate(this.voice, cText(text), 0, 1);
    if (audio === null)
      throw new ServiceError("engine_failed", "the voice could not speak this text; send other words");
    try {
      const count = read.i32(audio, AUDIO.count);
      const samples = read.ptr(audio, AUDIO.samples) as Pointer;
      if (count <= 0) return new Int16Array();
      return Int16Array.from(new Float32Array(toArrayBuffer(samples, 0, count * 4)), toSample);
    } finally {
      native.SherpaOnnxDestroyOfflineTtsGeneratedAudio(audio);
    }
  }
}

/** From −1 … 1. */
function toSample(value: number): number {
  return Math.round(Math.max(-1, Math.min(1, value)) * 32_767);
}
