// Limits of conversions, with their units and sources.

/** Longest header of a safetensors file that is read, bytes; as the reference reader. */
export const HEADER_BYTES_MAX = 100 * 1024 * 1024;
/** Characters of the converter's output that are kept for its error. */
export const CONVERT_OUTPUT_CHARS = 16_384;
/** Caps of the converter's process, far above what a conversion takes: MiB, seconds, processes and threads. */
export const CONVERT_MEMORY_MB = 16_777_216;
export const CONVERT_CPU_SECS = 604_800;
export const CONVERT_PROCS = 4096;
