// Folds the events of one run into its answer, for the bodies of all dialects. Streams send the same events one by one. Deltas are
// joined once, by the body, so the cost is linear in the answer. A test checks that a body equals the fold of its stream.

import type { AnswerEvent } from "../../core/agent.ts";
import { assert, unreachable } from "../../core/assert.ts";
import { ServiceError } from "../../core/error.ts";
import type { RunEvent, TokenLogprob } from "../../core/run.ts";
import { AgentFold, isAgentEvent } from "./agent-events.ts";
import type { RunCost } from "./usage.ts";

interface TextBlock {
  readonly type: "text" | "reasoning";
  readonly pieces: string[];
  readonly tokens: TokenLogprob[];
}

interface CallBlock {
  readonly type: "call";
  readonly index: number;
  readonly id: string;
  readonly name: string;
  /** Of the JSON text of its arguments. */
  readonly pieces: string[];
}

export type AnswerBlock = TextBlock | CallBlock;

type Ending = Extract<RunEvent, { type: "choice_end" }>;

/** A choice: its blocks in the order in which the model wrote them. */
export interface AnswerChoice {
  readonly blocks: readonly AnswerBlock[];
  readonly ending: Ending | undefined;
}

interface ChoiceDraft {
  readonly blocks: AnswerBlock[];
  /** Whether the last block accepts more deltas. */
  isOpen: boolean;
  ending: Ending | undefined;
}

/** The answer of one run. */
export class AnswerFold {
  protected readonly agent = new AgentFold();
  protected promptTokens = 0;
  private readonly drafts: readonly ChoiceDraft[];
  private runCost: RunCost | undefined;

  constructor(choices = 1) {
    this.drafts = Array.from({ length: choices }, () => ({ blocks: [], isOpen: false, ending: undefined }));
  }

  /** Adds an event; throws the ServiceError of an `error` event. */
  add(event: AnswerEvent): void {
    if (isAgentEvent(event)) {
      const isSilent = event.type === "session" || event.type === "input_cut";
      if (!isSilent) for (const draft of this.drafts) draft.isOpen = false;
      return this.agent.add(event);
    }
    switch (event.type) {
      case "load_progress":
      case "prompt_progress":
        return;
      case "accepted":
        this.promptTokens = event.promptTokens;
        return;
      case "text":
      case "reasoning":
        addText(this.draft(event.choice), event);
        return;
      case "tool_call_start": {
        const { index, id, name } = event;
        open(this.draft(event.choice), { type: "call", index, id, name, pieces: [] });
        return;
      }
      case "tool_call_args": {
        const { blocks } = this.draft(event.choice);
        const call = blocks.findLast((block) => block.type === "call" && block.index === event.index);
        assert(call !== undefined, "arguments for a tool call that has not started");
        call.pieces.push(event.delta);
        return;
      }
      case "choice_end":
        this.draft(event.choice).ending = event;
        return;
      case "finish":
        this.runCost = { usage: event.usage, timings: event.timings };
        return;
      case "error":
        throw ServiceError.fromData(event.error);
      default:
        unreachable(event);
    }
  }

  /** Token counts and times of the run; requires that its `finish` was added. */
  cost(): RunCost {
    assert(this.runCost !== undefined, "body requested before the run finished");
    return this.runCost;
  }

  protected get answers(): readonly AnswerChoice[] {
    return this.drafts;
  }

  /** The first choice, in dialects that have one only. */
  protected get answer(): AnswerChoice {
    return this.draft(0);
  }

  private draft(choice: number): ChoiceDraft {
    const draft = this.drafts[choice];
    assert(draft !== undefined, "event for a choice that was not requested");
    return draft;
  }
}

type TextEvent = Extract<RunEvent, { type: "text" | "reasoning" }>;

/** Deltas join the last block if it is open and of their type. */
function addText(draft: ChoiceDraft, { type, text, logprobs = [] }: TextEvent): void {
  const last = draft.isOpen ? draft.blocks.at(-1) : undefined;
  const isSame = last !== undefined && last.type !== "call" && last.type === type;
  const block = isSame ? last : open<TextBlock>(draft, { type, pieces: [], tokens: [] });
  block.pieces.push(text);
  for (const token of logprobs) block.tokens.push(token);
}

function open<T extends AnswerBlock>(draft: ChoiceDraft, block: T): T {
  draft.blocks.push(block);
  draft.isOpen = true;
  return block;
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
