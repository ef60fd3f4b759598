// The canonical conversation. Every dialect is translated into these words before anything else happens.

export type Role = "system" | "developer" | "user" | "assistant" | "tool";

export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

/** More kinds (images, audio, files) join here; a switch over `type` then fails to compile until it handles them. */
export type ContentPart = TextPart;

/** A call that an assistant message made earlier in the conversation. `arguments` is JSON text. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface Message<Part = ContentPart> {
  readonly role: Role;
  readonly content: readonly Part[];
  /** Assistant only: the reasoning that preceded the answer. */
  readonly reasoning?: string;
  /** Assistant only. */
  readonly toolCalls?: readonly ToolCall[];
  /** Tool only: which call this answers. */
  readonly toolCallId?: string;
  /** Author name (user) or tool name (tool). */
  readonly name?: string;
}

/** A function that the model may call. `parameters` is a JSON Schema. */
export interface ToolSpec {
  readonly name: string;
  readonly description?: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Constrain generated arguments to `parameters`. */
  readonly strict: boolean;
}

/** All text of a message, parts joined without a separator. */
export function messageText(message: Message): string {
  return message.content.map((part) => part.text).join("");
}
