// Parses server-sent events of a streamed chat completion into ChatEvents. Pure.

import type { ActionReach, AgentEvent } from "../../src/core/agent.ts";
import { promptPace } from "../../src/core/prompt-pace.ts";
import type { ChatCompletionChunkResponse } from "../../src/dialects/chat/schema.ts";
import type { CompletionUsageResponse } from "../../src/dialects/shared/usage.ts";
import type { CompactionPart, ProducedFile, ToolData, Wait } from "../state/conversation.ts";
import { diffOf } from "./edit-diff.ts";

/** A server-sent event; `event` is absent for plain `data:` lines. */
export interface SentEvent {
  readonly event?: string | undefined;
  readonly data: string;
}

export type ChatEvent =
  | { readonly type: "text" | "reasoning"; readonly text: string }
  | { readonly type: "call"; readonly index: number; readonly name?: string; readonly arguments: string }
  | {
      readonly type: "tool";
      readonly round: number;
      readonly name: string;
      readonly phase: "calling" | "running" | "complete";
      readonly data: ToolData;
    }
  | {
      readonly type: "approval";
      readonly id: string;
      readonly round: number;
      readonly label: string;
      readonly arguments: string;
      readonly reach?: ActionReach;
    }
  | { readonly type: "wait"; readonly waitsFor: Wait }
  | { readonly type: "file"; readonly file: ProducedFile }
  | { readonly type: "session"; readonly id: string }
  /** Compactions of the answer so far. */
  | { readonly type: "compacted"; readonly compactions: readonly CompactionPart[] }
  | { readonly type: "finish"; readonly reason: string }
  | { readonly type: "usage"; readonly usage: CompletionUsageResponse }
  | { readonly type: "error"; readonly code: string; readonly message: string }
  /** The answer was stopped by a user, or ended because no page read it. */
  | { readonly type: "stopped" }
  /** All events of the answer follow, whatever came before. */
  | { readonly type: "begin" }
  | { readonly type: "end" };

/** Bodies of the named events. */
interface Progress {
  readonly round: number;
  readonly tool_name: string;
  readonly phase: "calling" | "running" | "complete";
  readonly data: ToolData;
}
interface ApprovalRequired {
  readonly approval_id: string;
  readonly round: number;
  readonly tool: Extract<AgentEvent, { type: "approval_required" }>["tool"];
  readonly arguments: unknown;
}
type Chunk = Partial<ChatCompletionChunkResponse> & {
  readonly error?: { readonly code?: string; readonly message: string };
};

/** ChatEvents of one server-sent event; none for unknown events of a newer server. Throws SyntaxError for invalid JSON. */
export function chatEvents({ event, data }: SentEvent): readonly ChatEvent[] {
  if (data === "[DONE]") return [{ type: "end" }];
  const body: unknown = JSON.parse(data);
  switch (event) {
    case undefined:
    case "":
    case "message":
      return chunkEvents(body as Chunk);
    case "agentic_tool_call_progress": {
      const { round, tool_name: name, phase, data: progress } = body as Progress;
      return [{ type: "tool", round, name, phase, data: progress }];
    }
    case "agentic_tool_approval_required": {
      const { approval_id: id, round, tool, arguments: args } = body as ApprovalRequired;
      const { label, reach } = tool;
      return [
        {
          type: "approval",
          id,
          round,
          label,
          arguments: readable(args),
          ...(reach === undefined ? {} : { reach }),
        },
      ];
    }
    case "file_produced":
      return [{ type: "file", file: body as ProducedFile }];
    case "run_stopped":
      return [{ type: "stopped" }];
    default:
      return [];
  }
}

function chunkEvents(chunk: Chunk): readonly ChatEvent[] {
  const { error, session_id: session, choices = [], usage } = chunk;
  if (error !== undefined) return [{ type: "error", code: error.code ?? "", message: error.message }];
  const events: ChatEvent[] = [];
  const waitsFor = waitOf(chunk);
  if (waitsFor !== undefined) events.push({ type: "wait", waitsFor });
  if (session !== undefined) events.push({ type: "session", id: session });
  const compactions = compactionsOf(chunk);
  if (compactions.length > 0) events.push({ type: "compacted", compactions });
  for (const { delta, finish_reason: reason } of choices) {
    if (delta.reasoning_content) events.push({ type: "reasoning", text: delta.reasoning_content });
    if (delta.content) events.push({ type: "text", text: delta.content });
    for (const { index, function: called } of delta.tool_calls ?? []) {
      if (called === undefined) continue; // the page declares no custom tools
      const name = called.name === undefined ? {} : { name: called.name };
      events.push({ type: "call", index, ...name, arguments: called.arguments });
    }
    if (reason !== null) events.push({ type: "finish", reason });
  }
  if (usage) events.push({ type: "usage", usage });
  return events;
}

function compactionsOf({ context_management: management }: Chunk): readonly CompactionPart[] {
  return (management?.applied_edits ?? []).flatMap((edit) => {
    const { summary, summarized_messages: replaced = 0, cleared_input_tokens: saved } = edit;
    const { summary_input_tokens: read = 0, summary_output_tokens: written = 0 } = edit;
    return summary === undefined
      ? []
      : [{ type: "compaction", summary, replaced, saved, spent: read + written }];
  });
}

/** What a chunk tells of the load or the prompt; the time that is left follows from the pace so far. */
function waitOf({ load_progress: load, prompt_progress: prompt }: Chunk): Wait | undefined {
  if (load !== undefined) return { type: "load", percent: Math.floor(load.progress * 100) };
  if (prompt === undefined) return undefined;
  const { total, cache, processed: read, time_ms: ms, queued_before: before } = prompt;
  if (before !== undefined) return { type: "queue", before };
  return { type: "prompt", read, total, ...promptPace({ total, cached: cache, processed: read, ms }) };
}

/** Arguments for display: code and commands as text, replacements of text as a diff, everything else as JSON. */
function readable(args: unknown): string {
  if (typeof args === "string") return args;
  const diff = diffOf(args);
  if (diff !== undefined) return diff;
  if (typeof args === "object" && args !== null) {
    if ("code" in args && typeof args.code === "string") return args.code;
    if ("command" in args && typeof args.command === "string") return args.command;
    if ("commands" in args && Array.isArray(args.commands)) return args.commands.join("\n");
  }
  return JSON.stringify(args, null, 2) ?? "";
}
