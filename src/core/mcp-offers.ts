// Prompts and resources of MCP servers for clients: what people choose, as opposed to the tools that models call.

/** A prompt. */
export interface OfferedPrompt {
  /** The server's name. */
  readonly server: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly description?: string;
    readonly required: boolean;
  }[];
}

/** A resource, or a template of addresses with variables in braces. */
export interface OfferedResource {
  readonly server: string;
  readonly uri: string;
  readonly name: string;
  readonly description?: string;
}

/** A part of a message, or of a resource. */
export type OfferedPart =
  | { readonly type: "text"; readonly text: string }
  /** An image, audio or a file. `name` is a file's name. */
  | {
      readonly type: "binary";
      readonly kind: "image" | "audio" | "resource";
      readonly mimeType: string;
      readonly data: Uint8Array;
      readonly name?: string;
    };

export interface OfferedMessage {
  readonly role: "user" | "assistant";
  readonly part: OfferedPart;
}

/** What is there, and the servers that could not list theirs. */
export interface OfferList<T> {
  readonly data: readonly T[];
  readonly failed: readonly { readonly server: string; readonly message: string }[];
}

/** What connected servers offer. Throws `mcp_server_not_found`, `invalid_request`, `upstream_failed`. */
export interface McpOffers {
  prompts(signal: AbortSignal): Promise<OfferList<OfferedPrompt>>;
  resources(signal: AbortSignal): Promise<OfferList<OfferedResource>>;
  fill(
    wanted: {
      readonly server: string;
      readonly name: string;
      readonly arguments: Readonly<Record<string, string>>;
    },
    signal: AbortSignal,
  ): Promise<{ readonly description?: string; readonly messages: readonly OfferedMessage[] }>;
  read(
    wanted: { readonly server: string; readonly uri: string },
    signal: AbortSignal,
  ): Promise<readonly OfferedPart[]>;
}
