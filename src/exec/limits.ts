// Limits of exec, with their units and sources.

/** Sessions that hold a Python interpreter or a shell folder at the same time, each; the longest idle one makes room. */
export const EXEC_SESSIONS_MAX = 64;
/** Time without a call after which a session's interpreter and folders go, and between two looks, milliseconds. */
export const EXEC_IDLE_MS = 60 * 60_000;
export const EXEC_SWEEP_MS = 5 * 60_000;
/** Time an interpreter gets to answer once it was interrupted, milliseconds. */
export const PYTHON_INTERRUPT_MS = 3_000;
/** Time the end of a cell's output may take to arrive after its reply, milliseconds. */
export const PYTHON_OUTPUT_MS = 2_000;
/** Bytes of a cell's standard output and error each, and of an interpreter's reply with its images. */
export const PYTHON_OUTPUT_BYTES_MAX = 1024 * 1024;
export const PYTHON_REPLY_BYTES_MAX = 64 * 1024 * 1024;
/** Pause after each chunk of output beyond what is kept, milliseconds: slows down a flood. */
export const OUTPUT_PAUSE_MS = 1;
/** Characters of a shell call's output and error each: where the call says nothing, and at most. */
export const SHELL_OUTPUT_CHARS = 4096;
export const SHELL_OUTPUT_CHARS_MAX = 1024 * 1024;
/** Shell calls of a session whose processes are kept because something runs in their background; the oldest is ended. */
export const SHELL_CALLS_KEPT_MAX = 8;
/** Files that one call reports, bytes of one, and bytes of all. */
export const PRODUCED_FILES_MAX = 64;
export const PRODUCED_FILE_BYTES_MAX = 256 * 1024 * 1024;
export const PRODUCED_BYTES_MAX = 512 * 1024 * 1024;
/** Time the start-up checks of Python and the shell may take, milliseconds. */
export const EXEC_PROBE_MS = 20_000;
