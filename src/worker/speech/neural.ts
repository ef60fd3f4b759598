// A neural voice: sounds of a sentence → spectra by a network → samples. Its voices share everything but the network.

import { reasonOf } from "../../core/reason.ts";
import type { VoiceSource } from "../../engine/protocol.ts";
import { SPEECH_SOUNDS_MAX } from "../shared/limits.ts";
import type { SpeechBackend } from "./backend.ts";
import { floatsOf, type Network, type OpenNetwork } from "./network.ts";
import { phonemesOf, type Pronunciation } from "./phonemes.ts";
import { type Alphabet, alphabetOf, pronunciationOf, readVoiceFile } from "./voice-pack.ts";
import { SAMPLE_RATE, waveformOf } from "./waveform.ts";

export interface NeuralOptions extends Omit<Extract<VoiceSource, { readonly type: "neural" }>, "type"> {
  readonly open: OpenNetwork;
}

interface Speaking {
  readonly network: Network;
  readonly pronunciation: Pronunciation;
}

export class NeuralVoice implements SpeechBackend {
  readonly sampleRate = SAMPLE_RATE;
  private readonly options: NeuralOptions;
  private readonly alphabet: Alphabet;
  private readonly speaking = new Map<string, Promise<Speaking>>();
  private readonly accents = new Map<boolean, Promise<Pronunciation>>();

  private constructor(options: NeuralOptions) {
    this.options = options;
    this.alphabet = alphabetOf(options.folder);
  }

  /** Reads the voice that speaks by default; others are read once they are asked for. Throws for a damaged file. */
  static async open(options: NeuralOptions): Promise<NeuralVoice> {
    const voice = new NeuralVoice(options);
    await voice.speakingOf(options.voice);
    return voice;
  }

  async say(text: string, asked?: string): Promise<Int16Array> {
    const { names, voice } = this.options;
    const name = asked !== undefined && Object.hasOwn(names, asked) ? (names[asked] ?? voice) : voice;
    const { network, pronunciation } = await this.speakingOf(name);
    const sounds = await phonemesOf(text, pronunciation);
    const parts: Float32Array[] = [];
    for (const part of partsOf(sounds)) parts.push(await this.speak(part, network));
    return samplesOf(parts);
  }

  private async speak(sounds: string, network: Network): Promise<Float32Array> {
    const numbers = Array.from(sounds, (sound) => this.alphabet[sound]).filter((id) => id !== undefined);
    if (numbers.length === 0) return new Float32Array();
    const ids = BigInt64Array.from([0, ...numbers, 0], BigInt); // 0 is the pause around it
    const outputs = await network({
      ids: { data: ids, dims: [1, ids.length] },
      speed: { data: Float32Array.of(1), dims: [1] },
    });
    const part = (name: string): Float32Array => floatsOf(outputs, name);
    const spectra = {
      lh: part("lh"),
      theta: part("theta"),
      ln: part("ln"),
      lr: part("lr"),
      phi: part("phi"),
    };
    return waveformOf({ ...spectra, f0: part("f0") });
  }

  private speakingOf(name: string): Promise<Speaking> {
    const known = this.speaking.get(name);
    if (known !== undefined) return known;
    const loaded = this.load(name);
    this.speaking.set(name, loaded);
    return loaded;
  }

  private async load(name: string): Promise<Speaking> {
    const { folder, voices, open } = this.options;
    const voice = voices[name];
    if (voice === undefined) throw new Error(`the folder has no voice ${name}`);
    const accent = this.accents.get(voice.isBritish) ?? pronunciationOf(folder, voice.isBritish, open);
    this.accents.set(voice.isBritish, accent);
    try {
      return { network: await open(readVoiceFile(folder, voice.file)), pronunciation: await accent };
    } catch (error) {
      throw new Error(`${voice.file} of the voice ${name} could not be loaded: ${reasonOf(error)}`, {
        cause: error,
      });
    }
  }
}

/** Parts of no more sounds than a network takes at once, cut at spaces where there are some. */
function partsOf(sounds: string): readonly string[] {
  const parts: string[] = [];
  let rest = sounds;
  while (rest.length > SPEECH_SOUNDS_MAX) {
    const space = rest.lastIndexOf(" ", SPEECH_SOUNDS_MAX);
    const end = space > 0 ? space : SPEECH_SOUNDS_MAX;
    parts.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return rest === "" ? parts : [...parts, rest];
}

/** 16-bit samples of all parts. */
function samplesOf(parts: readonly Float32Array[]): Int16Array {
  const samples = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    for (const value of part) samples[at++] = Math.round(Math.max(-1, Math.min(1, value)) * 32_767);
  }
  return samples;
}
