// Limits of the engine process, with their units and sources.

/** Time to render a prompt and to compile its grammar, milliseconds; 50 MB take some minutes. */
export const RENDER_MS_MAX = 15 * 60_000;
/** Checkpoints of one model; a lookup compares with each. */
export const CHECKPOINTS_MAX = 128;
/** Blocks that wait to be written to disk; further ones wait in the KV cache. */
export const DISK_BACKLOG_MAX = 32;
/** Their bytes: a state of a large model has some 100 MB. */
export const DISK_BACKLOG_BYTES_MAX = 256 * 1024 * 1024;
/** Bytes of a block's file: a token of the largest models has some MiB. */
export const BLOCK_FILE_BYTES_MAX = 1 << 30;
/** Time that a sequence may wait for its blocks to be read, milliseconds; the rest is computed. */
export const TIER_READ_MS_MAX = 10_000;
/** Interval at which the progress of an image is polled, milliseconds. */
export const IMAGE_POLL_MS = 20;
/** Characters of one speech piece, about ten seconds of speech. Aborts and other requests wait for a piece to end. */
export const SPEECH_PIECE_CHARS_MAX = 200;
/** Length beyond which the first piece of a speech ends after a clause instead of its sentence, characters. */
export const SPEECH_FIRST_PIECE_CHARS = 80;
/** Characters of a word; flite's time is quadratic in them. */
export const SPEECH_WORD_CHARS_MAX = 30;
/** Pieces of a speech that may be synthesized ahead of its reader. */
export const SPEECH_AHEAD = 2;
/** Peak sample, of 32767, up to which speech counts as silence: voices have breath noise. */
export const SPEECH_SILENCE_PEAK = 256;
/** Sounds that a neural voice's network gets at once; longer texts than its training had come out worse. */
export const SPEECH_SOUNDS_MAX = 400;
/** Bytes of a decompressed table of a neural voice; the largest one has 10 MB. */
export const VOICE_FILE_BYTES_MAX = 64 * 1024 ** 2;
