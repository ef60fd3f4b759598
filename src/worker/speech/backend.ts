// What the speech engine needs of a library that speaks. Implemented in ffi, and by a fake in tests.

/** Turns short texts into sound, one at a time. */
export interface SpeechBackend {
  /** Samples a second. */
  readonly sampleRate: number;
  /** Speaks a text; samples of one channel. Throws ServiceError. */
  say(text: string): Int16Array;
}
