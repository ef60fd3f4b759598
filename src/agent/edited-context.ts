// Applies the edits of a request to its conversation, in the order of their cost: from the last summary on, without old reasoning, without
// old results, and with a summary of old turns.

import type { ContextEdits } from "../core/agent.ts";
import { type AppliedEdit, keptText } from "../core/applied-edit.ts";
import type { Message } from "../core/message.ts";
import { defined } from "../core/defined.ts";
import type { Begun, Summaries } from "./ahead.ts";
import { compacted, type CompactTask, promptTokens } from "./compaction.ts";
import { sinceSummary, toolUses, withoutThinking, withoutToolUses } from "./context-edits.ts";
import { type Cost, NO_COST } from "./cost.ts";

export interface EditedContext {
  readonly messages: readonly Message[];
  readonly edits: readonly AppliedEdit[];
  /** Cost of summaries. */
  readonly cost: Cost;
  /** Begins a summary for the next turn; called while the answer streams. */
  readonly ahead?: () => Begun | undefined;
}

export interface EditTask extends Omit<CompactTask, "compact"> {
  readonly edits: ContextEdits | undefined;
  readonly summaries: Summaries;
}

/** The conversation as the model gets it. */
export async function editedContext(
  task: EditTask,
  sent: readonly Message[],
  signal: AbortSignal,
): Promise<EditedContext> {
  const { edits = {}, summaries } = task;
  const counting = { ...task, compact: edits.compact ?? {} };
  const count = (messages: readonly Message[]): Promise<number> => promptTokens(counting, messages, signal);
  const applied: AppliedEdit[] = [];
  let messages = sinceSummary(sent);
  const apply = async (edited: readonly Message[], made: (tokens: number) => AppliedEdit): Promise<void> => {
    const [before, after] = [await count(messages), await count(edited)];
    messages = edited;
    applied.push(made(Math.max(0, before - after)));
  };
  const { clearThinking, clearToolUses, compact } = edits;
  if (clearThinking !== undefined) {
    const { messages: edited, cleared } = withoutThinking(messages, clearThinking.keep);
    if (cleared > 0) await apply(edited, (tokens) => ({ type: "clear_thinking", turns: cleared, tokens }));
  }
  if (clearToolUses !== undefined && (await isDue(clearToolUses, messages, count))) {
    const { messages: edited, cleared } = withoutToolUses(messages, clearToolUses);
    const { atLeast = 0 } = clearToolUses;
    const saves =
      cleared > 0 && (atLeast === 0 || (await count(messages)) - (await count(edited)) >= atLeast);
    if (saves) await apply(edited, (tokens) => ({ type: "clear_tool_uses", uses: cleared, tokens }));
  }
  if (compact === undefined) return { messages, edits: applied, cost: NO_COST };
  const { made, ahead } = await compacted(counting, messages, summaries, signal);
  const next = compact.pauses === undefined ? defined({ ahead }) : {};
  if (made === undefined) {
    if (compact.pauses === "always") applied.push(uncompacted(messages));
    return { messages, edits: applied, cost: NO_COST, ...next };
  }
  const { summary, replaced, cost } = made;
  const kept = keptText(made.messages);
  const { promptTokens: read, cachedTokens, completionTokens } = cost.usage;
  const spent = { promptTokens: read, cachedTokens, completionTokens };
  await apply(made.messages, (tokens) => ({ type: "compaction", summary, replaced, kept, tokens, spent }));
  return { messages, edits: applied, cost, ...next };
}

/** What a conversation without old turns, or one that the model could not summarize, stands for: itself. */
function uncompacted(messages: readonly Message[]): AppliedEdit {
  const spent = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  return { type: "compaction", summary: "", replaced: 0, kept: keptText(messages), tokens: 0, spent };
}

async function isDue(
  { trigger }: NonNullable<ContextEdits["clearToolUses"]>,
  messages: readonly Message[],
  count: (messages: readonly Message[]) => Promise<number>,
): Promise<boolean> {
  if (trigger.uses !== undefined) return toolUses(messages).length > trigger.uses;
  return (await count(messages)) > trigger.tokens;
}
