// Limits of Python and shell, with units and sources.

/**
 * Sessions with a Python interpreter, and with a shell folder. The longest idle one that no request has named is evicted, else that
 * of the client with the most.
 */
export const EXEC_SESSIONS_MAX = 64;
/** Idle time after which a session's interpreter and folders are deleted, and time between two checks, milliseconds. */
export const EXEC_IDLE_MS = 60 * 60_000;
/** The same time for a session that no request has named, milliseconds. */
export const EXEC_BRIEF_IDLE_MS = 10 * 60_000;
export const EXEC_SWEEP_MS = 5 * 60_000;
/** Time for an interrupted interpreter to answer, milliseconds. */
export const PYTHON_INTERRUPT_MS = 3_000;
/** Time for the end of a cell's output after its reply, milliseconds. */
export const PYTHON_OUTPUT_MS = 2_000;
/** Bytes of a cell's standard output and error each, and of an interpreter's reply with its images. */
export const PYTHON_OUTPUT_BYTES_MAX = 1024 * 1024;
export const PYTHON_REPLY_BYTES_MAX = 64 * 1024 * 1024;
/** Time that matplotlib may take for its list of fonts, milliseconds, and bytes of the list. */
export const PYTHON_FONTS_MS = 120_000;
export const PYTHON_FONTS_BYTES_MAX = 4 * 1024 * 1024;
/** Pause after each chunk of discarded output, milliseconds: slows the writer down. */
export const OUTPUT_PAUSE_MS = 1;
/** Characters of a shell call's stdout and of its stderr: default and maximum. */
export const SHELL_OUTPUT_CHARS = 4096;
export const SHELL_OUTPUT_CHARS_MAX = 1024 * 1024;
/** Bytes of a script in one word of a command line (the kernel permits 128 KiB), and of a script in several. */
export const SHELL_WORD_BYTES_MAX = 96 * 1024;
export const SHELL_SCRIPT_BYTES_MAX = 1024 * 1024;
/** Shell calls of a session with background processes; another one ends the oldest. */
export const SHELL_CALLS_KEPT_MAX = 8;
/** Reported files of a call, bytes of one, and bytes of all. */
export const PRODUCED_FILES_MAX = 64;
export const PRODUCED_FILE_BYTES_MAX = 256 * 1024 * 1024;
export const PRODUCED_BYTES_MAX = 512 * 1024 * 1024;
/** Time the start-up checks of Python and the shell may take, milliseconds. */
export const EXEC_PROBE_MS = 20_000;
