// Limits of agent, with their units and sources.

/** Characters of all previews of one request. Spec: Limits. */
export const REQUEST_PREVIEW_CHARS_MAX = 32_768;
/** Tokens that results may have by the size asked for. Spec: agent runtime. */
export const SEARCH_BUDGET_TOKENS = { low: 4096, medium: 8192, high: 16_384 } as const;
/** Part of a model's context that the results of one call may take, and tokens of what stands around them. */
export const SEARCH_CONTEXT_SHARE = 0.25;
export const SEARCH_FRAME_TOKENS = 100;
/** Tool rounds of a request where neither it nor the server names a cap. Spec: Limits. */
export const TOOL_ROUNDS_MAX = 256;
/** Longest context whose model is told of tools in short, tokens: full descriptions take about a thousand. */
export const BRIEF_CONTEXT_TOKENS = 4096;
/** Characters of one text of a tool result for the model, and of one slice of a file. */
export const TOOL_TEXT_CHARS_MAX = 65_536;
/** Installed Python packages that a model is told of. */
export const PACKAGES_TOLD_MAX = 200;
/** Time a person has to approve an action, milliseconds. Spec: States. */
export const APPROVAL_WAIT_MS = 300_000;
/** Answer of a tool behind the dispatch URL, bytes. */
export const DISPATCH_ANSWER_BYTES_MAX = 8 * 1024 * 1024;
/** Characters of an MCP tool's description for models with a small context. */
export const MCP_BRIEF_CHARS = 120;
