// Interface of MCP tools for the agent. Knows nothing of the protocol.

/** A part of a tool result. */
export type McpPart =
  | { readonly type: "text"; readonly text: string }
  /** An image, audio or a file. `name` is a file's name. */
  | {
      readonly type: "binary";
      readonly kind: "image" | "audio" | "resource";
      readonly mimeType: string;
      readonly data: Uint8Array;
      readonly name?: string;
    };

export interface McpResult {
  /** Whether the call failed; the parts have the reason. */
  readonly isError: boolean;
  readonly parts: readonly McpPart[];
}

/** A connected server beside its tools. */
export interface McpAssets {
  /** Id of the server. */
  readonly server: string;
  /** Its name for models. */
  readonly label: string;
  /** Host of a server at an address. */
  readonly host?: string;
  /** What it says of its use. */
  readonly instructions?: string;
  /** Absent where it offers none. */
  readonly resources?: McpResources;
}

/** Resources of a server. Failures are error results, with a message for the model. */
export interface McpResources {
  /** Addresses with names, one a line; templates have variables in braces. */
  list(signal: AbortSignal): Promise<McpResult>;
  read(uri: string, signal: AbortSignal): Promise<McpResult>;
}

/** A tool of a connected server. */
export interface McpTool {
  /** Id of its server. */
  readonly server: string;
  /** Host of a server at an address. */
  readonly host?: string;
  /** Name for the model, with the prefix of its server. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object, reduced to what the grammar compiler supports. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Whether `parameters` is equivalent to the server's schema. */
  readonly strict: boolean;
  /**
   * Calls the tool. Failures of the connection are error results too, with a message for the model that contains no URL.
   * Rejects soon after the signal is aborted, and the server gets a cancellation. `onProgress` receives what the server says
   * meanwhile.
   */
  call(
    args: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
    onProgress?: (message: string) => void,
  ): Promise<McpResult>;
}
