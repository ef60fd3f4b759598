// The answer of one run: the one state machine of all dialects. It reduces events to blocks, endings and costs. A body is a
// projection of the final state (`*/response.ts`), a stream one of the changes (`*/stream.ts`).
//
// A choice has at most one open block, which receives its deltas; what does not belong to it closes it. Every token passes here,
// so a delta costs the same however long the answer is. Texts are joined once, by who shows them.

import type { AgentEvent, AnswerEvent } from "../../core/agent.ts";
import { assert, unreachable } from "../../core/assert.ts";
import { type ErrorData, ServiceError } from "../../core/error.ts";
import type { FinishReason, RunEvent, TokenLogprob } from "../../core/run.ts";
import { AgentFold } from "./agent-events.ts";
import { CustomInput } from "./custom-tools.ts";
import type { ProgressEvent } from "./progress.ts";
import { isSearchComplete, type SearchComplete } from "./tool-search.ts";
import type { RunCost } from "./usage.ts";

/** Assertion message; the engine sends the arguments of a call before it opens another block. */
const MISPLACED_ARGUMENTS = "arguments for a tool call that is not open";

interface Block {
  /** Of its choice. */
  readonly choice: number;
  /** Position among the blocks of its choice. */
  readonly position: number;
  /** Deltas, if the block is kept. */
  readonly pieces: string[];
  readonly isKept: boolean;
}

export interface TextBlock extends Block {
  readonly type: "text" | "reasoning";
  readonly tokens: TokenLogprob[];
}

export interface CallBlock extends Block {
  readonly type: "call";
  /** Position of the call within its choice. */
  readonly index: number;
  readonly id: string;
  readonly name: string;
  /** Of a custom tool, whose pieces are its text; those of a function are the JSON text of its arguments. */
  readonly custom: CustomInput | undefined;
}

export type AnswerBlock = TextBlock | CallBlock;
type Of<T extends RunEvent["type"]> = Extract<RunEvent, { readonly type: T }>;
export type Ending = Of<"choice_end">;

/** A choice: its blocks in the order in which the model wrote them. */
export interface AnswerChoice {
  readonly blocks: readonly AnswerBlock[];
  readonly open: AnswerBlock | undefined;
  readonly ending: Ending | undefined;
}

interface ChoiceDraft {
  readonly blocks: AnswerBlock[];
  open: AnswerBlock | undefined;
  ending: Ending | undefined;
}

/** Shows the changes of an answer, in the order of a stream. Each member returns the frames of it. */
export interface AnswerChanges {
  /** Whether texts of a block are needed after they were shown. Absent: those of none. */
  keeps?(type: AnswerBlock["type"]): boolean;
  progress?(event: ProgressEvent): string;
  accepted?(event: Of<"accepted">): string;
  opened?(block: AnswerBlock): string;
  delta(block: AnswerBlock, text: string, tokens: readonly TokenLogprob[] | undefined): string;
  /** `reason`: why its choice ended, if that closes it. */
  closed?(block: AnswerBlock, reason?: FinishReason): string;
  /** Whether a choice that ends needs a block of text first, be it empty. */
  needsText?(choice: AnswerChoice, reason: FinishReason): boolean;
  ended?(event: Ending): string;
  agent?(event: AgentEvent): string;
  finished(event: Of<"finish">, answer: AnswerReducer): string;
  failed(error: ErrorData, answer: AnswerReducer): string;
}

export interface AnswerOptions {
  readonly choices?: number;
  /** Whether the calls of a tool are given back as text. */
  readonly isCustom?: (name: string) => boolean;
  /** Changes the text of the answer, delta by delta. */
  readonly filter?: { push(delta: string): string; end(): string };
  /** Files belong to the block that is open, and do not close it. */
  readonly citesFiles?: true;
  /** Absent: the answer becomes a body, and an `error` event is thrown. */
  readonly changes?: AnswerChanges;
}

export class AnswerReducer {
  /** What the server did. With changes, which show the rest: session and cut files. */
  readonly agent = new AgentFold();
  promptTokens = 0;
  /** Searches for tools and edits, each with the number of blocks of the first choice before it. */
  readonly deeds: { readonly after: number; readonly event: SearchComplete | Of<"context_edited"> }[] = [];
  private readonly options: AnswerOptions;
  private readonly changes: AnswerChanges | undefined;
  private readonly filter: AnswerOptions["filter"];
  private readonly drafts: readonly ChoiceDraft[];
  private runCost: RunCost | undefined;
  private ended = false;

  constructor(options: AnswerOptions = {}) {
    this.options = options;
    this.changes = options.changes;
    this.filter = options.filter;
    this.drafts = Array.from({ length: options.choices ?? 1 }, () => {
      return { blocks: [], open: undefined, ending: undefined };
    });
  }

  get choices(): readonly AnswerChoice[] {
    return this.drafts;
  }

  /** The first choice, in dialects that have one only. */
  get answer(): AnswerChoice {
    return this.draft(0);
  }

  /** Token counts and times of the run; requires that its `finish` was added. */
  get cost(): RunCost {
    assert(this.runCost !== undefined, "body requested before the run finished");
    return this.runCost;
  }

  /** Adds an event and returns its frames: "" without changes, and for all events after the end. */
  add(event: AnswerEvent): string {
    if (this.ended) return "";
    const { changes } = this;
    switch (event.type) {
      case "text":
      case "reasoning":
        return this.addText(event);
      case "tool_call_start":
        return this.startCall(event);
      case "tool_call_args":
        return this.addArguments(event);
      case "load_progress":
      case "prompt_progress":
        return changes?.progress?.(event) ?? "";
      case "accepted":
        this.promptTokens = event.promptTokens;
        return changes?.accepted?.(event) ?? "";
      case "choice_end":
        return this.endChoice(event);
      case "finish":
        this.ended = true;
        this.runCost = { usage: event.usage, timings: event.timings };
        return changes?.finished(event, this) ?? "";
      case "error":
        this.ended = true;
        if (changes === undefined) throw ServiceError.fromData(event.error);
        return changes.failed(event.error, this);
      case "session":
      case "input_cut":
      case "context_edited":
      case "tool_calling":
      case "tool_progress":
      case "tool_complete":
      case "approval_required":
      case "file_produced":
        return this.addAgentEvent(event);
      default:
        return unreachable(event);
    }
  }

  private addText(event: Of<"text" | "reasoning">): string {
    const { filter } = this;
    if (filter === undefined) return this.write(event);
    const text = filter.push(event.text);
    return text === "" ? "" : this.write({ ...event, text });
  }

  /** Deltas join the open block if it is of their type. */
  private write(event: Of<"text" | "reasoning">): string {
    const { type, choice, text } = event;
    const { open } = this.draft(choice);
    if (open === undefined || open.type !== type) return this.openText(type, choice) + this.write(event);
    if (open.isKept) {
      open.pieces.push(text);
      // Those of an echoed prompt are too many for the arguments of one call.
      if (event.logprobs !== undefined) for (const token of event.logprobs) open.tokens.push(token);
    }
    return this.changes === undefined ? "" : this.changes.delta(open, text, event.logprobs);
  }

  private openText(type: TextBlock["type"], choice: number): string {
    return this.open({ ...this.next(choice, type), type, tokens: [] });
  }

  private startCall({ choice, index, id, name }: Of<"tool_call_start">): string {
    const custom = this.options.isCustom?.(name) === true ? new CustomInput() : undefined;
    return this.open({ ...this.next(choice, "call"), type: "call", index, id, name, custom });
  }

  private addArguments(event: Of<"tool_call_args">): string {
    const { open } = this.draft(event.choice);
    assert(open?.type === "call" && open.index === event.index, MISPLACED_ARGUMENTS);
    const text = open.custom === undefined ? event.delta : open.custom.add(event.delta);
    if (text === "" && open.custom !== undefined) return "";
    if (open.isKept) open.pieces.push(text);
    return this.changes === undefined ? "" : this.changes.delta(open, text, undefined);
  }

  private endChoice(event: Ending): string {
    const { choice, reason } = event;
    const draft = this.draft(choice);
    const text = this.filter?.end() ?? "";
    let shown = text === "" ? "" : this.write({ type: "text", choice, text });
    const needsText = event.isPaused !== true && this.changes?.needsText?.(draft, reason) === true;
    if (needsText && draft.open?.type !== "text") shown += this.openText("text", choice);
    draft.ending = event;
    shown += this.close(draft, reason);
    return shown + (this.changes?.ended?.(event) ?? "");
  }

  private addAgentEvent(event: AgentEvent): string {
    const { changes } = this;
    const isSilent =
      event.type === "session" || event.type === "input_cut" || event.type === "context_edited";
    const leavesOpen = event.type === "file_produced" && this.options.citesFiles === true;
    let shown = "";
    // The model's output of this round is complete before the server acts. Dialects show compactions as blocks of their own.
    if ((!isSilent || event.type === "context_edited") && !leavesOpen)
      for (const draft of this.drafts) shown += this.close(draft);
    if (isSilent || changes === undefined) this.agent.add(event);
    if (event.type === "context_edited" || isSearchComplete(event))
      this.deeds.push({ after: this.draft(0).blocks.length, event });
    return shown + (changes?.agent?.(event) ?? "");
  }

  /** Common fields of the next block. */
  private next(choice: number, type: AnswerBlock["type"]): Block {
    const isKept = this.changes === undefined || this.changes.keeps?.(type) === true;
    return { choice, position: this.draft(choice).blocks.length, pieces: [], isKept };
  }

  /** Closes the open block of a choice and opens another one. */
  private open(block: AnswerBlock): string {
    const draft = this.draft(block.choice);
    const closed = this.close(draft);
    draft.open = block;
    draft.blocks.push(block);
    return closed + (this.changes?.opened?.(block) ?? "");
  }

  private close(draft: ChoiceDraft, reason?: FinishReason): string {
    const block = draft.open;
    if (block === undefined) return "";
    draft.open = undefined;
    return this.changes?.closed?.(block, reason) ?? "";
  }

  private draft(choice: number): ChoiceDraft {
    const draft = this.drafts[choice];
    assert(draft !== undefined, "event for a choice that was not requested");
    return draft;
  }
}

/** The blocks of text of some types. */
export function textBlocks(
  { blocks }: AnswerChoice,
  ...types: readonly TextBlock["type"][]
): readonly TextBlock[] {
  return blocks.flatMap((block) => (block.type !== "call" && types.includes(block.type) ? [block] : []));
}

export function callBlocks({ blocks }: AnswerChoice): readonly CallBlock[] {
  return blocks.flatMap((block) => (block.type === "call" ? [block] : []));
}

/** The text of blocks, as one. */
export function joined(blocks: readonly AnswerBlock[]): string {
  return blocks.flatMap(({ pieces }) => pieces).join("");
}
