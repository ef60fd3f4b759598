// What was done to a conversation before the model saw it.

import type { Message } from "./message.ts";
import type { Spent } from "./usage.ts";

/** Begins the text that stands for old turns. */
export const SUMMARY_HEADER = "Summary of the conversation so far:";

/** An edit of a conversation, and the prompt tokens that it saves. */
export type AppliedEdit =
  | { readonly type: "clear_tool_uses"; readonly uses: number; readonly tokens: number }
  | { readonly type: "clear_thinking"; readonly turns: number; readonly tokens: number }
  | {
      readonly type: "compaction";
      readonly summary: string;
      /** Messages that it stands for. */
      readonly replaced: number;
      /** The conversation from the summary on, without instructions and media. */
      readonly kept: readonly Message[];
      readonly tokens: number;
      /** Tokens that the summary took, which are part of the answer's usage; 0 for one that was written before. */
      readonly spent: SummaryTokens;
    };

/** Tokens that a model read and wrote. */
export type SummaryTokens = Pick<Spent, "promptTokens" | "cachedTokens" | "completionTokens">;

/** A conversation without instructions with a summary in the place of old turns. Templates want turns that alternate, so it joins a message of the user. */
export function withSummary(talk: readonly Message[], replaced: number, summary: string): readonly Message[] {
  const tail = talk.slice(replaced);
  const text = { type: "text" as const, text: `${SUMMARY_HEADER}\n${summary}\n\n` };
  const [first, ...rest] = tail;
  if (first?.role === "user") return [{ ...first, content: [text, ...first.content] }, ...rest];
  const asked = talk.slice(0, replaced).findLast(({ role }) => role === "user");
  return [{ role: "user", content: [text, ...(asked?.content ?? [])] }, ...tail];
}

/** A compacted conversation as clients send it back: without instructions, and with media in words. */
export function keptText(messages: readonly Message[]): readonly Message[] {
  return messages.filter((message) => !isInstruction(message)).map(withoutMedia);
}

export function isInstruction({ role }: Message): boolean {
  return role === "system" || role === "developer";
}

function withoutMedia(message: Message): Message {
  const { foundTools: _, replacesEarlier: __, ...rest } = message;
  const content = message.content.map((part) =>
    part.type === "text" ? part : { type: "text" as const, text: `[${part.type}]` },
  );
  return { ...rest, content };
}
