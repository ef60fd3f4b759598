// How much of the model's context a conversation fills, by the figures of its last answer.

import { type Conversation, thread } from "../state/conversation.ts";
import type { ModelCard } from "../state/model-card.ts";
import { formatNumber } from "../format.ts";

/** Share from which the meter is shown, and from which it warns. */
const SHOWN_FROM = 0.05;
const WARNS_FROM = 0.8;

interface MeterProps {
  readonly conversation: Conversation;
  readonly card: ModelCard | undefined;
}

export function ContextMeter({ conversation, card }: MeterProps) {
  const max = card?.context_length ?? 0;
  const used = usedTokens(conversation);
  const share = max === 0 ? 0 : used / max;
  if (share < SHOWN_FROM) return null;
  const isNearlyFull = share >= WARNS_FROM;
  const percent = Math.min(100, Math.round(share * 100));
  return (
    <p class={`context-meter ${isNearlyFull ? "nearly-full" : "faint"}`}>
      <meter
        min={0}
        max={max}
        high={max * WARNS_FROM}
        value={Math.min(max, used)}
        aria-label="Context used"
      />
      {percent} % of the context used ({formatNumber(used)} of {formatNumber(max)} tokens).
      {isNearlyFull && " Start a new conversation soon: a question that does not fit is refused."}
    </p>
  );
}

/** Tokens of the last complete answer and of all before it. */
function usedTokens(conversation: Conversation): number {
  const last = thread(conversation).findLast(
    (message) => message.role === "assistant" && message.figures !== undefined,
  );
  if (last?.role !== "assistant" || last.figures === undefined) return 0;
  return last.figures.promptTokens + last.figures.completionTokens;
}
