// Limits of dialects, with their units and sources.

/** Stop strings a request may name. The base dialect allows 4; tools send more. */
export const STOP_STRINGS_MAX = 64;
/** Characters of one stop string. */
export const STOP_STRING_CHARS_MAX = 1024;
/** Sequence breakers that a request may give to DRY sampling, and the characters of one. */
export const DRY_BREAKERS_MAX = 64;
export const DRY_BREAKER_CHARS_MAX = 128;
/** Continuations of one prompt. The base dialect allows 128. */
export const CHOICES_MAX = 128;
/** Alternatives reported a token, in chat and in completions. Base dialect. */
export const TOP_LOGPROBS_MAX = 20;
export const COMPLETION_TOP_LOGPROBS_MAX = 5;
/** Prompts of one completions request, and continuations of all of them together. */
export const COMPLETION_PROMPTS_MAX = 256;
export const COMPLETION_CHOICES_MAX = 1024;
/** Inputs of one embeddings request. The base dialect allows 2048. */
export const EMBED_INPUTS_MAX = 2048;
/** Files of one infill request, and tokens kept free for an answer without a cap of its own. */
export const INFILL_FILES_MAX = 1024;
export const INFILL_ANSWER_TOKENS = 256;
/** Documents of one rerank request. */
export const RANK_DOCUMENTS_MAX = 2048;
/** Token ids are 32-bit in the engine. */
export const TOKEN_ID_MAX = 2 ** 31 - 1;
/** Values in the schema of a tool's arguments, members of one object in it, and its levels. */
export const TOOL_SCHEMA_PARTS_MAX = 4000;
export const TOOL_PROPERTIES_MAX = 500;
export const TOOL_SCHEMA_DEPTH_MAX = 64;
/** Schemas that one schema of a tool combines, its references written out. */
export const TOOL_ALTERNATIVES_MAX = 1000;
/** Grammars of one grammar set. */
export const GRAMMARS_MAX = 64;
/** Files that a request may ask for, and files that a body holds; the others stay in the store. */
export const REQUESTED_FILES_MAX = 64;
export const FILES_IN_BODY_MAX = 64;
/** Files of an exported session, and pictures and recordings each. */
export const SESSION_FILES_MAX = 256;
export const SESSION_MEDIA_MAX = 1024;
/** Characters of a session's name. */
export const SESSION_ID_CHARS_MAX = 256;
/** Skills that a request may mount. */
export const SKILLS_MAX = 64;
/** Hosts in a search filter. Spec: Limits. */
export const SEARCH_DOMAINS_MAX = 100;
/** Characters of an adapter's alias, and bytes of a body that loads or unloads one. */
export const ADAPTER_ALIAS_CHARS_MAX = 256;
export const ADAPTER_BODY_BYTES_MAX = 64 * 1024;
/** Rows that a calibration can be asked to count. */
export const CALIBRATION_ROWS_MAX = 2 ** 40;
/** Messages in one conversation. */
export const MESSAGES_MAX = 16_384;
/** Pictures of one request; longest edge and most pixels of one, and its shortest edge. */
export const IMAGE_COUNT_MAX = 10;
export const IMAGE_EDGE_MIN = 16;
export const IMAGE_EDGE_MAX = 4096;
export const IMAGE_PIXELS_MAX = 2048 * 2048;
/** Characters of a picture's prompt: an encoder's work grows with the square of it. */
export const IMAGE_PROMPT_CHARS_MAX = 4000;
/** Characters of a text to speak: more than an hour of speech. */
export const SPEECH_INPUT_CHARS_MAX = 65_536;
