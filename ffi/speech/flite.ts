// The built-in English voices, by flite. The library has one state for all voices; see ffi/speech.
// flite, because neural engines need models of tens of megabytes and GPL code; it takes 5 MB. kal16 is deterministic to the bit, for tests.

import { ServiceError } from "../../src/core/error.ts";
import type { SpeechBackend } from "../../src/worker/speech/backend.ts";
import type { SpeechNative } from "../library.ts";
import { cText, type Handle, nativeText } from "../text.ts";

/** Of all built-in voices. */
const SAMPLE_RATE = 16_000;

export class FliteVoice implements SpeechBackend {
  readonly sampleRate = SAMPLE_RATE;
  private readonly native: SpeechNative;
  private readonly voice: Handle;

  /** Throws for an unknown voice. */
  constructor(native: SpeechNative, name: string) {
    const voice = native.svc_speech_voice(cText(name));
    if (voice === null) throw new Error(nativeText(native.svc_speech_last_error()));
    this.native = native;
    this.voice = voice;
  }

  /** Synthesizes ASCII text. */
  say(text: string): Int16Array {
    const { native } = this;
    const speech = native.svc_speech_say(this.voice, cText(text));
    if (speech === null) throw new ServiceError("engine_failed", nativeText(native.svc_speech_last_error()));
    try {
      const count = -native.svc_speech_samples(speech, new Int16Array(1), 0);
      const samples = new Int16Array(Math.max(count, 1));
      native.svc_speech_samples(speech, samples, samples.length);
      return samples.subarray(0, count);
    } finally {
      native.svc_speech_free(speech);
    }
  }
}
