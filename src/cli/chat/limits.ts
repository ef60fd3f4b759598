// Limits of cli, with their units and sources.

/** Lines of the terminal chat's history, and characters of one; a longer line is not kept. */
export const HISTORY_LINES_MAX = 1000;
export const HISTORY_LINE_CHARS_MAX = 16_384;
/** Lines that may be typed ahead while an answer runs. */
export const TYPED_AHEAD_MAX = 256;
/** Files that the terminal chat keeps of those that tools have made. */
export const CHAT_FILES_MAX = 256;
/** Longest time to read an attached document, milliseconds: a thousand pages take some twenty seconds. */
export const DOCUMENT_MS = 60_000;
