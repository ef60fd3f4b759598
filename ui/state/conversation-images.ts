// The images of a conversation: attached ones, and those that tools made. Pure.

import { type Conversation, type Part, thread } from "./conversation.ts";
import { shownAs } from "./media-types.ts";

export interface ConversationImage {
  readonly name: string;
  /** A data URL. */
  readonly source: string;
}

/** Images of the shown thread, in its order. */
export function imagesOf(conversation: Conversation): readonly ConversationImage[] {
  return thread(conversation).flatMap((message) =>
    message.role === "assistant"
      ? message.parts.flatMap(imagesOfPart)
      : message.attachments
          .filter((file) => shownAs(file) === "image")
          .map(({ name, data }) => ({ name, source: data })),
  );
}

function imagesOfPart(part: Part): readonly ConversationImage[] {
  if (part.type === "files") {
    return part.files.flatMap(({ name, mime_type: mime = "", data_base64: data }) =>
      data !== undefined && shownAs({ mime }) === "image"
        ? [{ name, source: `data:${mime};base64,${data}` }]
        : [],
    );
  }
  if (part.type !== "tool") return [];
  const made = part.output?.images_base64 ?? [];
  return made.map((data) => ({ name: part.name, source: `data:image/png;base64,${data}` }));
}
