// Limits of files, with their units and sources.

/** Files kept, and the life of each from its creation, milliseconds. Spec: Limits. */
export const FILES_MAX = 4096;
export const FILE_LIFE_MS = 30 * 60 * 1000;
/** Bytes of all files' bodies; beyond it the oldest bodies are elided. */
export const FILE_BODIES_BYTES_MAX = 1024 * 1024 * 1024;
/** Characters of an input file's preview, bytes of an agent output's. Spec: Limits. */
export const INPUT_PREVIEW_CHARS_MAX = 4096;
export const OUTPUT_PREVIEW_BYTES_MAX = 1024;
