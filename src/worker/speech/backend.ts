// Interface of a speech library. Implemented in ffi and by neural.ts, faked in tests.

/** Synthesizes short texts, one at a time. */
export interface SpeechBackend {
  /** Samples a second. */
  readonly sampleRate: number;
  /** Samples of a text, mono. `voice` is the one that the client named. Throws ServiceError. */
  say(text: string, voice?: string): Int16Array | Promise<Int16Array>;
}
