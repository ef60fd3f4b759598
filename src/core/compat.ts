// Compatibility mode: handling of requests that the specification rejects although widely used clients send them.
// `strict` rejects them, `clients` serves them as closely as possible. Spec: decisions, Second wave.
// One mode for the server: not a switch for each value, nor by User-Agent, which would make a request's meaning depend on its sender.

export const COMPAT_MODES = ["strict", "clients"] as const;
export type CompatMode = (typeof COMPAT_MODES)[number];

/**
 * Everything that `clients` serves and `strict` refuses, and what both serve in the nearest right way (NOTED); label of
 * `svc_compat_total`, words of `x-svc-compat`.
 */
export const COMPAT_KINDS = [
  "json_object",
  "parallel_tool_calls",
  "max_tool_calls",
  "external_web_access",
  "hosted_tool",
  "reasoning_effort",
  "file_list",
  "reasoning_summary",
  "whole_file",
  "image_form",
  "image_model",
  "speech_model",
  "dimensions",
  "history_item",
  "template_value",
  "custom_format",
  "unknown_field",
] as const;
export type CompatKind = (typeof COMPAT_KINDS)[number];

/** Kinds that no mode refuses: they are served without what this server has no meaning for. */
export const NOTED: ReadonlySet<CompatKind> = new Set([
  "history_item",
  "template_value",
  "custom_format",
  "unknown_field",
  "image_model",
  "speech_model",
]);

/** Tools that a server can run for a request. */
export const HOSTED_TOOLS = ["code_execution", "shell", "web_search"] as const;
export type HostedTool = (typeof HOSTED_TOOLS)[number];

/** The mode as one request meets it. */
export interface Compat {
  readonly mode: CompatMode;
  /** Tools that are switched on. */
  readonly hosted: ReadonlySet<HostedTool>;
  /** Reports that the request was served in the nearest right way. `what`: the value that it is about. */
  note(kind: CompatKind, what?: string): void;
}

/** The interface to the letter. */
export const STRICT: Compat = { mode: "strict", hosted: new Set(), note: () => undefined };
