// The canonical conversation, to which every dialect is translated.

export type Role = "system" | "developer" | "user" | "assistant" | "tool";

export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

/** Kinds of media that a model may accept. */
export type Modality = "image" | "audio";

/** An image (PNG, JPEG …) or audio (WAV, MP3, FLAC): the bytes of its file, base64. */
export interface MediaPart {
  readonly type: Modality;
  readonly data: string;
}

/** A switch over `type` fails to compile until it handles a kind that joins here. */
export type ContentPart = TextPart | MediaPart;

/** A call that an assistant message made earlier in the conversation. `arguments` is JSON text. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** Namespace of the function in dialects that have some; part of `name` in the engine. */
  readonly namespace?: string;
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
  /** Tool only: names of left-out tools that the result has found. */
  readonly foundTools?: readonly string[];
  /** User only: a summary of all that was before it, which the model does not see then. */
  readonly replacesEarlier?: true;
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
  /** The prompt does not show it, but the model may call it; `found`: the conversation has its definition. */
  readonly deferred?: true | "found";
}

/** All text of a message, parts joined without a separator, without images and audio. */
export function messageText(message: Message): string {
  return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The kinds of media in a conversation, each once. */
export function modalitiesOf(messages: readonly Message[]): readonly Modality[] {
  const found: Modality[] = [];
  for (const { content } of messages) {
    for (const { type } of content) if (type !== "text" && !found.includes(type)) found.push(type);
  }
  return found;
}
