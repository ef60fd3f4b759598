// Interface of a speech library. Implemented in ffi, faked in tests.

/** Synthesizes short texts, one at a time. */
export interface SpeechBackend {
  /** Samples a second. */
  readonly sampleRate: number;
  /** Samples of a text, mono. Throws ServiceError. */
  say(text: string): Int16Array;
}
