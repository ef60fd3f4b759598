// Limits of files, with their units and sources.

/** Number of files, and the lifetime of each from its creation, milliseconds. Spec: Limits. */
export const FILES_MAX = 4096;
export const FILE_LIFE_MS = 30 * 60 * 1000;
/** Bytes of all file bodies; above it the oldest bodies are evicted. */
export const FILE_BODIES_BYTES_MAX = 1024 * 1024 * 1024;
/** Characters of an input file's preview, bytes of an agent output's preview. Spec: Limits. */
export const INPUT_PREVIEW_CHARS_MAX = 4096;
export const OUTPUT_PREVIEW_BYTES_MAX = 1024;
