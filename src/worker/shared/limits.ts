// Limits of engine process, with their units and sources.

/** Time a prompt may take to be rendered and its grammar to be compiled, milliseconds; 50 MB take some minutes. */
export const RENDER_MS_MAX = 15 * 60_000;
/** Checkpoints of a model's state: each lookup compares with all of them. */
export const CHECKPOINTS_MAX = 128;
/** How often a picture that is being drawn is asked how far it is, milliseconds. */
export const DRAWING_POLL_MS = 20;
/** Characters spoken at once: what others wait for, and an abort. About ten seconds of speech. */
export const SPEECH_PIECE_CHARS_MAX = 200;
/** Characters beyond which the first piece of a speech ends with a clause instead of its sentence. */
export const SPEECH_FIRST_PIECE_CHARS = 80;
/** Characters of a word; flite's time grows with their square. */
export const SPEECH_WORD_CHARS_MAX = 30;
/** Pieces of a speech that may be made ahead of its reader. */
export const SPEECH_AHEAD = 2;
/** Loudest sample, of 32767, up to which speech counts as silence: voices breathe. */
export const SPEECH_SILENCE_PEAK = 256;
