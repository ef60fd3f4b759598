// Interface of MCP tools for the agent. Knows nothing of the protocol.

import type { OfferedPart } from "../core/mcp-offers.ts";
import type { FilledPrompt, ListedPrompt, ListedResource } from "./connection.ts";

/** A part of a tool result, a prompt or a resource. */
export type McpPart = OfferedPart;

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
  /** Absent where it offers none. */
  readonly prompts?: McpPrompts;
}

/** Prompts of a server, which people choose. Failures throw McpFailure. */
export interface McpPrompts {
  list(signal: AbortSignal): Promise<readonly ListedPrompt[]>;
  fill(name: string, args: Readonly<Record<string, string>>, signal: AbortSignal): Promise<FilledPrompt>;
}

/** Resources of a server. Failures are error results, with a message for the model. */
export interface McpResources {
  /** The same as `list` for programs. Throws McpFailure. */
  entries(signal: AbortSignal): Promise<readonly ListedResource[]>;
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
  /** The configuration leaves it out of prompts. */
  readonly isDeferred?: true;
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
