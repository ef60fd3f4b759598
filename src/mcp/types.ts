// What the agent sees of MCP servers. Nothing here knows the protocol.

/** A piece of what a tool answered. */
export type McpPart =
  | { readonly type: "text"; readonly text: string }
  /** An image, a sound, or a file. `name` is a file's own. */
  | {
      readonly type: "binary";
      readonly kind: "image" | "audio" | "resource";
      readonly mimeType: string;
      readonly data: Uint8Array;
      readonly name?: string;
    };

export interface McpResult {
  /** The call failed, by the tool's own word or otherwise; the parts tell why. */
  readonly isError: boolean;
  readonly parts: readonly McpPart[];
}

/** A tool of a connected server. */
export interface McpTool {
  /** With the prefix of its server: what the model calls. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object that every grammar compiler takes. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Whether `parameters` says all that the server's own schema does. */
  readonly strict: boolean;
  /**
   * Calls it. What keeps the call from being made or answered is an error result too, in words for the model that name no
   * address. Rejects soon after the signal is aborted, and the server is told.
   */
  call(args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<McpResult>;
}
