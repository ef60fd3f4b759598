// Limits of dialects, with their units and sources.

/** Stop strings per request. OpenAI's API allows 4; some clients send more. */
export const STOP_STRINGS_MAX = 64;
/** Characters per stop string. */
export const STOP_STRING_CHARS_MAX = 1024;
/** DRY sequence breakers per request, and characters per breaker. */
export const DRY_BREAKERS_MAX = 64;
export const DRY_BREAKER_CHARS_MAX = 128;
/** Choices per prompt. Source: OpenAI's API. */
export const CHOICES_MAX = 128;
/** Alternatives per token in log probabilities, in chat and in completions. Source: OpenAI's API. */
export const TOP_LOGPROBS_MAX = 20;
export const COMPLETION_TOP_LOGPROBS_MAX = 5;
/** Prompts per completions request, and choices over all its prompts. */
export const COMPLETION_PROMPTS_MAX = 256;
export const COMPLETION_CHOICES_MAX = 1024;
/** Inputs per embeddings request. Source: OpenAI's API. */
export const EMBED_INPUTS_MAX = 2048;
/** Files per infill request, and tokens reserved for an answer if the request has no cap. */
export const INFILL_FILES_MAX = 1024;
export const INFILL_ANSWER_TOKENS = 256;
/** Documents per rerank request. */
export const RANK_DOCUMENTS_MAX = 2048;
/** Token ids are 32-bit in the engine. */
export const TOKEN_ID_MAX = 2 ** 31 - 1;
/** Values in the schema of a tool's arguments, members per object in it, and its nesting depth. */
export const TOOL_SCHEMA_PARTS_MAX = 4000;
export const TOOL_PROPERTIES_MAX = 500;
export const TOOL_SCHEMA_DEPTH_MAX = 64;
/** Schemas that one schema of a tool combines, with references expanded. */
export const TOOL_ALTERNATIVES_MAX = 1000;
/** Texts that an answer may be one of. */
export const GUIDED_CHOICES_MAX = 1024;
/** Grammars per grammar set. */
export const GRAMMARS_MAX = 64;
/** Requested output files per request, and files in a body; further files stay in the file store. */
export const REQUESTED_FILES_MAX = 64;
export const FILES_IN_BODY_MAX = 64;
/** Files of an exported session, and its images and audio clips (each). */
export const SESSION_FILES_MAX = 256;
export const SESSION_MEDIA_MAX = 1024;
/** Characters of a session id. */
export const SESSION_ID_CHARS_MAX = 256;
/** Skills per request. */
export const SKILLS_MAX = 64;
/** Hosts in a search filter. Spec: Limits. */
export const SEARCH_DOMAINS_MAX = 100;
/** Characters of an adapter alias, and bytes of a body that loads or unloads an adapter. */
export const ADAPTER_ALIAS_CHARS_MAX = 256;
export const ADAPTER_BODY_BYTES_MAX = 64 * 1024;
/** Largest row count that a calibration request may set. */
export const CALIBRATION_ROWS_MAX = 2 ** 40;
/** Characters of what another server wrote into a history, for each item that becomes text. */
export const FOREIGN_TEXT_CHARS_MAX = 100_000;
/** Characters of the grammar of a custom tool, and of the regular expression of a rule of it. */
export const CUSTOM_FORMAT_CHARS_MAX = 32_768;
export const LARK_REGEX_CHARS_MAX = 16_384;
/** Of one that nests: characters, times that a rule is in itself, and rules that are looked up for it. */
export const LARK_NESTED_CHARS_MAX = 8192;
export const LARK_DEPTH_MAX = 12;
export const LARK_STEPS_MAX = 10_000;
/** Variables of the chat template in a request. */
export const TEMPLATE_VALUES_MAX = 64;
/** Messages per conversation. */
export const MESSAGES_MAX = 16_384;
/** Images per generation request; shortest edge, longest edge and pixels per image. */
export const IMAGE_COUNT_MAX = 10;
export const IMAGE_EDGE_MIN = 16;
export const IMAGE_EDGE_MAX = 4096;
export const IMAGE_PIXELS_MAX = 2048 * 2048;
/** Characters of an image prompt: the encoder's work grows with its square. */
export const IMAGE_PROMPT_CHARS_MAX = 4000;
/** Characters of a speech input: more than an hour of speech. */
export const SPEECH_INPUT_CHARS_MAX = 65_536;
/** Examples of a tool's arguments: more would fill the prompt. */
export const TOOL_EXAMPLES_MAX = 64;
