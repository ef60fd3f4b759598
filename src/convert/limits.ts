// Limits of conversions, with their units and sources.

/** Headers of safetensors that are read for an estimate, bytes: of one file, and of all of a folder. */
export const HEADER_BYTES_MAX = 8 * 1024 * 1024;
export const HEADERS_BYTES_MAX = 32 * 1024 * 1024;
/** Bytes of a folder's config.json. */
export const CONFIG_BYTES_MAX = 16 * 1024 * 1024;
/** Files and folders within a folder that is converted. */
export const ENTRIES_MAX = 100_000;
/** Characters of the converter's output that are kept for its error. */
export const CONVERT_OUTPUT_CHARS = 16_384;
/** Caps of the converter's process, far above what a conversion takes: MiB, seconds, processes and threads, bytes of its file. */
export const CONVERT_MEMORY_MB = 16_777_216;
export const CONVERT_CPU_SECS = 604_800;
export const CONVERT_PROCS = 4096;
export const CONVERT_FILE_BYTES = 2 ** 46;
/** Bytes of a configuration or tokenizer that is read before a conversion: the largest vocabularies have 40 MB. */
export const JSON_BYTES_MAX = 256 * 2 ** 20;
