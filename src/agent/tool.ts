// Interface of server tools. The loop knows only this file, so a new kind of tool needs no change there.

import type { ActionReach, AgentRequest, RequestedFile, ToolProgress } from "../core/agent.ts";
import type { Caller } from "../core/caller.ts";
import type { MediaPart, Modality, ToolSpec } from "../core/message.ts";
import type { InputFile, ProducedFile } from "../exec/types.ts";

/** Description of an action in an approval. */
export interface ToolAction {
  readonly source: "built_in" | "mcp" | "external";
  readonly kind: "code_execution" | "shell" | "web_search" | "file" | "custom" | "external";
  /** For the user. */
  readonly label: string;
  readonly reach: ActionReach;
  /** It reads nothing and changes nothing, so that it needs no permission. */
  readonly isHarmless?: true;
}

/** Session and files of a call. */
export interface CallContext {
  readonly sessionId: string;
  /** Who calls: a key, else an address. */
  readonly client: string;
  /** No request has named the session. */
  readonly isBrief: boolean;
  /** Whether the conversation has called the tool before. */
  readonly ranBefore: boolean;
  /** Files that earlier calls of the tool produced, newest version each. */
  readonly earlier: () => readonly InputFile[];
  /** Files that came with the request, for tools with a working directory. */
  readonly inputs: readonly InputFile[];
  /** Files that the answer must still produce. */
  readonly required: readonly RequestedFile[];
  /** Shows the client what the tool says of its progress. */
  readonly report: (message: string) => void;
}

/** Result of a call. */
export interface ToolOutcome {
  /** For the model. */
  readonly text: string;
  /** For the user: data of the `complete` event. */
  readonly data: ToolProgress;
  /** PNG images, base64. */
  readonly images?: readonly string[];
  /** Images and audio for models that accept them. */
  readonly media?: readonly MediaPart[];
  /** Sentences for the model that follow the text. */
  readonly notes?: readonly string[];
  /** In the order of their events. */
  readonly files?: readonly ProducedFile[];
}

/** A tool that the server executes. `args` is the model's JSON, parsed, or the text if it is not JSON. */
export interface ServerTool {
  readonly spec: ToolSpec;
  readonly action: ToolAction;
  /** Whether calls have a working directory and can produce files. */
  readonly makesFiles?: true;
  /** Whether calls of one round may run at the same time: they change nothing that the others see. */
  readonly isIndependent?: true;
  /** Names of the tools that share its working directory; absent: itself. */
  readonly folderOf?: readonly string[];
  /** Whether the tool is optional: dropped, without an error, from a request that cannot have it. */
  readonly isHelper?: true;
  /** Data of the `calling` event. Never throws. */
  calling(args: unknown): ToolProgress;
  /** Why the arguments are invalid; for the model. */
  fault(args: unknown): string | undefined;
  /**
   * Executes a call with valid arguments. Throws ToolFailure or ServiceError with a message for the model. Must settle soon
   * after the signal is aborted; the outcome is then ignored.
   */
  run(args: unknown, context: CallContext, signal: AbortSignal): Promise<ToolOutcome>;
}

/** Properties of a request that decide which tools it gets. */
export interface ToolRequest {
  readonly agent: AgentRequest;
  /** Name of the model. */
  readonly model: string;
  readonly caller: Caller;
  /** Whether the request or its session has input files. */
  readonly hasInputs: boolean;
  /** Context of the model; undefined if unknown. Limits descriptions and results. */
  readonly contextTokens: number | undefined;
  /** Media that the model accepts. */
  readonly modalities: readonly Modality[];
}

/** Tools of one kind for a request. */
export interface ToolOffer {
  readonly tools: readonly ServerTool[];
  /** System text about these tools. */
  readonly systemText?: string;
}

/** A kind of tools. Throws ServiceError (such as `capability_disabled`) for a request that it cannot serve. */
export type Toolset = (ask: ToolRequest) => ToolOffer;

/** A call that failed; the message is for the model. */
export class ToolFailure extends Error {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = "ToolFailure";
  }
}
