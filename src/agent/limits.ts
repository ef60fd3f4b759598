// Limits of agent, with their units and sources.

/** Characters of all previews of one request. Spec: Limits. */
export const REQUEST_PREVIEW_CHARS_MAX = 32_768;
/** Token budget of search results by `search_context_size`. Spec: agent runtime. */
export const SEARCH_BUDGET_TOKENS = { low: 4096, medium: 8192, high: 16_384 } as const;
/** Share of a model's context for the results of one call, and tokens of the text around them. */
export const SEARCH_CONTEXT_SHARE = 0.25;
export const SEARCH_FRAME_TOKENS = 100;
/** Tool rounds of a request if neither it nor the server sets a cap. Spec: Limits. */
export const TOOL_ROUNDS_MAX = 256;
/** Contexts up to this many tokens get short tool descriptions; full ones take about 1,000 tokens. */
export const BRIEF_CONTEXT_TOKENS = 4096;
/** Characters of one text of a tool result for the model, and of one slice of a file. */
export const TOOL_TEXT_CHARS_MAX = 65_536;
/** Installed Python packages in a tool description. */
export const PACKAGES_LISTED_MAX = 200;
/** Timeout of an approval, milliseconds. Spec: States. */
export const APPROVAL_WAIT_MS = 300_000;
/** Response of the dispatch URL, bytes. */
export const DISPATCH_ANSWER_BYTES_MAX = 8 * 1024 * 1024;
/** Characters of an MCP tool's description for models with a small context. */
export const MCP_BRIEF_CHARS = 120;
/** Files of earlier calls that are put into a new working directory. */
export const EARLIER_FILES_MAX = 256;
/** Calls of a round that run at the same time. */
export const PARALLEL_CALLS_MAX = 10;
/** Rounds with equal calls and results after which the model gets a note, and after which it gets no more tools. */
export const EQUAL_ROUNDS_NOTED = 4;
export const EQUAL_ROUNDS_MAX = 16;
/** Characters of the list of a call's files in its result for the model, previews included. */
export const FILE_LIST_CHARS_MAX = 32_768;
/** Characters of an MCP server's instructions in the prompt. */
export const MCP_INSTRUCTIONS_CHARS = 2_000;
/** Share of a context above which definitions of tools are left out of the prompt, and characters of a token of them. */
export const TOOLS_CONTEXT_SHARE = 0.25;
export const TOOL_CHARS_PER_TOKEN = 3.5;
/** Tools that a prompt has although they exceed that share, if they do not exceed twice of it. */
export const TOOLS_SHOWN_MIN = 8;
/** Characters of definitions for which a request waits until the model's context is known. */
export const TOOLS_CHARS_SMALL = 7_000;
/** Tools that a search returns. Source: Anthropic's tool search returns 3 to 5. */
export const TOOLS_FOUND_MAX = 5;
/** Characters of a pattern. Source: Anthropic's tool search. */
export const TOOL_SEARCH_PATTERN_CHARS = 200;
/** Beginnings of names in the description of the search. */
export const TOOL_GROUPS_MAX = 60;
/** Share of a context above which a conversation is compacted at the latest, and what its verbatim turns may take of the bound. */
export const COMPACT_CONTEXT_SHARE = 0.8;
export const COMPACT_TAIL_SHARE = 0.4;
/** Share of the bound that a summary must stand for, unless the context is full: instructions may take most of the bound. */
export const COMPACT_LEAST_SHARE = 0.1;
/** Summaries that a server keeps, tokens of one, the share of a context that is summarized at once, and characters of a result in it. */
export const SUMMARIES_MAX = 256;
/** Share of the bound from which a summary is written beside the answer, and such summaries at a time in a server. */
export const SUMMARY_AHEAD_SHARE = 0.75;
export const SUMMARIES_AHEAD_MAX = 2;
export const SUMMARY_TOKENS_MAX = 2048;
export const SUMMARY_CHUNK_SHARE = 0.5;
export const SUMMARY_RESULT_CHARS = 2000;
/** Pages of a scan that are shown to a model that sees. */
export const PAGES_MAX = 16;
