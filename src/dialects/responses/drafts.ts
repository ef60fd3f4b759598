// Output items under construction; those that the model writes share the texts of a block of the answer, which are joined once,
// when an item is complete.

import { defined } from "../../core/defined.ts";
import type { TokenLogprob } from "../../core/run.ts";
import { tokenLogprob } from "../shared/logprobs.ts";
import type {
  ContentPart,
  FileCitation,
  ItemStatus,
  OutputItem,
  OutputText,
  ReasoningText,
  ShellCallItem,
  ShellOutputItem,
} from "./output-items.ts";
import type { CompactionItem } from "./compaction.ts";
import type { ToolSearchCallItem, ToolSearchOutputItem } from "./tool-search.ts";

interface Draft {
  readonly id: string;
  /** Position in the output. */
  readonly index: number;
  /** Undefined for items of server-executed tools. */
  readonly choice: number | undefined;
  status: ItemStatus;
}

interface TextDraft extends Draft {
  readonly pieces: string[];
}

export interface MessageDraft extends TextDraft {
  readonly kind: "message";
  readonly tokens: readonly TokenLogprob[];
  readonly citations: FileCitation[];
}

export interface ReasoningDraft extends TextDraft {
  readonly kind: "reasoning";
  /** The text is the summary too. */
  readonly summarized?: true;
}

export interface CallDraft extends TextDraft {
  readonly kind: "call";
  readonly callId: string;
  readonly name: string;
  readonly namespace?: string;
}

/** A call of a custom tool; its pieces are its text. */
export interface CustomDraft extends TextDraft {
  readonly kind: "custom";
  readonly callId: string;
  readonly name: string;
}

/** An item of a tool that the server or the client executes, which is complete when it is shown. */
interface HostedDraft extends Draft {
  readonly kind: "hosted";
  readonly item: ShellCallItem | ShellOutputItem | ToolSearchCallItem | ToolSearchOutputItem | CompactionItem;
}

/** An item that the model generates, in deltas. */
export type GeneratedDraft = MessageDraft | ReasoningDraft | CallDraft | CustomDraft;
export type ItemDraft = GeneratedDraft | HostedDraft;

/** The text so far. */
export function textOf(draft: TextDraft): string {
  return draft.pieces.join("");
}

/** Current content part of a message or of reasoning. */
export function partOf(draft: MessageDraft | ReasoningDraft, text = textOf(draft)): ContentPart {
  return draft.kind === "message" ? outputText(draft, text) : { type: "reasoning_text", text };
}

/** The part of a summary. */
export function summaryOf(text: string) {
  return { type: "summary_text" as const, text };
}

function outputText(draft: MessageDraft, text: string): OutputText {
  return {
    type: "output_text",
    text,
    annotations: [...draft.citations],
    logprobs: draft.tokens.map(tokenLogprob),
  };
}

/** Current item. `withContent: false` omits the content part of a message or of reasoning, before its own event. */
export function itemOf(draft: ItemDraft, withContent = true): OutputItem {
  const { id, status } = draft;
  switch (draft.kind) {
    case "message": {
      const content = withContent ? [outputText(draft, textOf(draft))] : [];
      return { type: "message", id, status, role: "assistant", content };
    }
    case "reasoning": {
      const content: ReasoningText[] = withContent ? [{ type: "reasoning_text", text: textOf(draft) }] : [];
      const summary = draft.summarized && withContent ? [summaryOf(textOf(draft))] : [];
      return { type: "reasoning", id, status, summary, content };
    }
    case "call": {
      const { callId, name, namespace } = draft;
      const grouped = defined({ namespace });
      const args = textOf(draft);
      return { type: "function_call", id, status, call_id: callId, name, ...grouped, arguments: args };
    }
    case "custom": {
      const { callId, name } = draft;
      return { type: "custom_tool_call", id, status, call_id: callId, name, input: textOf(draft) };
    }
    case "hosted":
      return { ...draft.item, status };
  }
}
