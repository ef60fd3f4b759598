// Limits of models, with their units and sources.

/** Models whose load settings are kept, and files that are served beside the configured models. */
export const CHOSEN_MODELS_MAX = 1000;
/** Folders below `models_dir` that are looked into, and how deep. */
export const MODEL_FOLDERS_MAX = 1000;
export const MODEL_FOLDER_DEPTH_MAX = 4;
/** Bytes of a GGUF file that say what it is. */
export const MODEL_START_BYTES = 1 << 16;
/** Time between two looks at `models_dir`, milliseconds. */
export const MODEL_FOLDER_PAUSE_MS = 1_000;
