// Limits that several rooms share, with their units and sources.

/** Longest time that a timer can wait, milliseconds: beyond 31 bits it fires at once. */
export const TIMER_MS_MAX = 2 ** 31 - 1;
/** Function calls of one answer, unless `max_calls` says otherwise. */
export const ANSWER_CALLS_MAX = 32;
/** Tools that a request may declare, and characters of a tool's name. */
export const TOOLS_MAX = 1024;
export const TOOL_NAME_CHARS_MAX = 256;
/** Members of an object of a request whose names are the client's: metadata, arguments, a schema. */
export const MAP_MEMBERS_MAX = 4096;
/** Tokens that a request may bias: more than any script has in a vocabulary. */
export const BIASED_TOKENS_MAX = 32 * 1024;
/** Bytes of encoded media an engine keeps for later prompts, and contents it remembers by number. */
export const ENCODINGS_BYTES_MAX = 256 * 1024 * 1024;
export const MEDIA_KINDS_MAX = 4096;
/** Largest body that a JSON body or event carries. Spec: Limits. */
export const FILE_INLINE_BYTES_MAX = 8 * 1024 * 1024;
/** Largest file that a request brings or names, bytes, and files of one request. Spec: agent runtime. */
export const INPUT_FILE_BYTES_MAX = 64 * 1024 * 1024;
export const INPUT_FILES_MAX = 64;
/** Largest image, audio or video file, bytes, and bytes of all of one request: they travel to the engine as one message. */
export const MEDIA_BYTES_MAX = 32 * 1024 * 1024;
export const REQUEST_MEDIA_BYTES_MAX = 64 * 1024 * 1024;
/** Images of one request unless the settings of the model set another number; images and audio together. */
export const IMAGES_MAX = 64;
export const MEDIA_MAX = 128;
/** Pixels of an image, four bytes each when decoded. */
export const PICTURE_PIXELS_MAX = 64 * 1024 * 1024;
/** Frames of a video unless the settings of the model set another number. Spec: media. */
export const VIDEO_FRAMES_MAX = 32;
/** Seconds of all audio of one request unless the settings of the model set another number. */
export const AUDIO_SECONDS_MAX = 3600;
/** Samples a second of a converted sound, Hz: encoders of known models take no other. */
export const SOUND_RATE = 16_000;
/** Samples of a channel that are brought to that rate by a filter; the engine takes longer sounds without one. */
export const RESAMPLED_MAX = 64 * 1024 * 1024;
/** Highest rate that is brought to it so, Hz: four times that of the best recorders. */
export const RESAMPLED_RATE_MAX = 768_000;
/** Characters of a file's name, of its purpose, of a form's text field. */
export const FILE_NAME_CHARS_MAX = 255;
export const FILE_PURPOSE_CHARS_MAX = 64;
export const FORM_FIELD_CHARS_MAX = 4096;
/** Characters of a passage, about 500 tokens at most, and passages that an embedding model ranks. */
export const PASSAGE_CHARS_MAX = 1500;
export const PASSAGES_RERANKED_MAX = 20;
/** llama.cpp: LLAMA_MAX_SEQ. */
export const SLOTS_MAX = 256;
/** MCP servers of a configuration, tools that one may have, and pages in which it may list them. */
export const MCP_SERVERS_MAX = 256;
export const MCP_TOOLS_MAX = 1024;
export const MCP_PAGES_MAX = 1024;
/** Time of an MCP server's calls and of its other answers where its configuration says nothing, seconds. Spec: MCP. */
export const MCP_TIMEOUT_SECS = 30;
/**
 * Header of a GGUF file: bytes that are read first and at most, of one field and of its key, metadata fields, items of a list, tensors.
 * Ten times what the largest models have.
 */
export const HEADER_BYTES = 1024 * 1024;
export const HEADER_BYTES_MAX = 64 * 1024 * 1024;
export const FIELD_BYTES_MAX = 8 * 1024 * 1024;
export const KEY_BYTES_MAX = 4096;
export const FIELDS_MAX = 16 * 1024;
export const ARRAY_ITEMS_MAX = 4 * 1024 * 1024;
export const TENSORS_MAX = 64 * 1024;
/** ggml.h: GGML_MAX_NAME without its end, GGML_MAX_DIMS. */
export const TENSOR_NAME_BYTES_MAX = 63;
export const TENSOR_AXES_MAX = 4;
/** llama-hparams.h: LLAMA_MAX_LAYERS, LLAMA_MAX_EXPERTS; the largest number that llama.cpp reads of a model. */
export const LAYERS_MAX = 512;
export const EXPERTS_MAX = 1024;
export const MODEL_NUMBER_MAX = 2 ** 32 - 1;
/** Headers of files that a process remembers, and bytes of all of them; the newest one is. */
export const HEADERS_KEPT_MAX = 128;
export const HEADERS_KEPT_BYTES_MAX = 64 * 1024 * 1024;
/** Levels of a JSON body, and objects and arrays in it: each takes a hundred bytes of memory for two of the body. */
export const JSON_DEPTH_MAX = 128;
export const JSON_PARTS_MAX = 200_000;
/** Members of its objects, whose different names take a microsecond each, and commas: as many values, less one for each part. */
export const JSON_MEMBERS_MAX = 65_536;
export const JSON_ENTRIES_MAX = 1_000_000;
