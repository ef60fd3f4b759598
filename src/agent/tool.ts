// What a tool is that the server runs by itself. The loop knows tools by this interface alone, so that another kind of
// tool is another file and nothing else.

import type { AgentRequest, RequestedFile, ToolProgress } from "../core/agent.ts";
import type { MediaPart, Modality, ToolSpec } from "../core/message.ts";
import type { InputFile, ProducedFile } from "../exec/types.ts";

/** What an approval says about an action. */
export interface ToolAction {
  readonly source: "built_in" | "mcp" | "external";
  readonly kind: "code_execution" | "shell" | "web_search" | "file" | "custom" | "external";
  /** For people. */
  readonly label: string;
}

/** Where a call happens. */
export interface CallContext {
  readonly sessionId: string;
  /** Files that came with the request, for tools with a working directory. */
  readonly inputs: readonly InputFile[];
  /** Files that the answer must still produce. */
  readonly required: readonly RequestedFile[];
}

/** What came of a call. */
export interface ToolOutcome {
  /** For the model. */
  readonly text: string;
  /** For people: data of the event that the call is complete. */
  readonly data: ToolProgress;
  /** PNG images, base64. */
  readonly images?: readonly string[];
  /** What the model perceives of it, if it can: the images, and what else was made. */
  readonly media?: readonly MediaPart[];
  /** In the order in which they are to be announced. */
  readonly files?: readonly ProducedFile[];
}

/** `args` is what the model wrote: parsed, or the text itself where that is no JSON. */
export interface ServerTool {
  readonly spec: ToolSpec;
  readonly action: ToolAction;
  /** Whether calls work in a folder and can leave files behind. */
  readonly makesFiles?: true;
  /** Whether it only helps, so that a request that cannot have it does without. */
  readonly isHelper?: true;
  /** Data of the event that the tool is called. Never throws. */
  calling(args: unknown): ToolProgress;
  /** Why a call with these arguments is not even tried; for the model. */
  fault(args: unknown): string | undefined;
  /**
   * Does it, with arguments that have no fault. Throws ToolFailure or ServiceError with a message for the model. Must
   * settle soon once the signal is aborted; nobody reads the outcome then.
   */
  run(args: unknown, context: CallContext, signal: AbortSignal): Promise<ToolOutcome>;
}

/** What tools are chosen by. */
export interface ToolAsk {
  readonly agent: AgentRequest;
  /** Name of the model that is told. */
  readonly model: string;
  /** Whether messages of the request hold files. */
  readonly hasInputs: boolean;
  /** Context of the model; undefined where it is not known. Bounds what it is told. */
  readonly contextTokens: number | undefined;
  /** What the model perceives besides text. */
  readonly modalities: readonly Modality[];
}

/** What a kind of tools has for a request. */
export interface ToolOffer {
  readonly tools: readonly ServerTool[];
  /** What the model is told once, at the beginning of the conversation. */
  readonly systemText?: string;
}

/** A kind of tools. Throws `capability_disabled`, or why the request cannot be met. */
export type Toolset = (ask: ToolAsk) => ToolOffer;

/** A call that failed; the message is for the model. */
export class ToolFailure extends Error {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = "ToolFailure";
  }
}
