// How much of the model's context a conversation fills, with what, and ways out when it is nearly full.

import { ChevronRight } from "lucide";
import { useState } from "preact/hooks";
import { contextUse, type ContextUse } from "../state/context-use.ts";
import type { Conversation } from "../state/conversation.ts";
import { draftOf } from "../state/drafts.ts";
import type { ModelCard } from "../state/model-card.ts";
import { isRunning } from "../state/running.ts";
import { dropOldest, continueElsewhere, summarizeOldest, summarizing } from "../state/ways-out.ts";
import { formatNumber } from "../format.ts";
import { Icon } from "./icon.tsx";

/** Share from which the meter is shown, and from which it warns. */
const SHOWN_FROM = 0.05;
const WARNS_FROM = 0.8;

interface MeterProps {
  readonly conversation: Conversation;
  readonly card: ModelCard | undefined;
}

export function ContextMeter({ conversation, card }: MeterProps) {
  const [isOpen, setOpen] = useState(false);
  const max = card?.context_length ?? 0;
  const use = contextUse(conversation, draftOf(conversation.id), card);
  const share = max === 0 ? 0 : use.next / max;
  if (share < SHOWN_FROM) return null;
  const isNearlyFull = share >= WARNS_FROM;
  return (
    <div class={`context-meter ${isNearlyFull ? "nearly-full" : "faint"}`}>
      <button
        type="button"
        class="fold"
        aria-expanded={isOpen || isNearlyFull}
        onClick={() => setOpen(!isOpen)}
      >
        <meter
          min={0}
          max={max}
          high={max * WARNS_FROM}
          value={Math.min(max, use.next)}
          aria-label="Context used"
        />
        <span>
          {Math.round(share * 100)} % of the context used ({formatNumber(Math.round(use.next))} of{" "}
          {formatNumber(max)} tokens)
        </span>
        <Icon node={ChevronRight} size={14} />
      </button>
      {share > 1 && <p role="status">This does not fit: the model will refuse it. Shorten it, or:</p>}
      {isNearlyFull && share <= 1 && <p>Nearly full: a question that does not fit is refused.</p>}
      {(isOpen || isNearlyFull) && <Details {...{ use, max }} id={conversation.id} />}
    </div>
  );
}

interface DetailsProps {
  readonly id: string;
  readonly use: ContextUse;
  readonly max: number;
}

function Details({ id, use: { parts }, max }: DetailsProps) {
  const isBusy = summarizing.value !== undefined || isRunning(id);
  return (
    <>
      <div class="context-bar" aria-hidden="true">
        {parts.map(({ name, tokens }) => (
          <span key={name} class={classOf(name)} style={{ width: `${(tokens / max) * 100}%` }} />
        ))}
      </div>
      <ul class="context-parts">
        {parts.map(({ name, tokens }) => (
          <li key={name}>
            <span class={`swatch ${classOf(name)}`} />
            {name}: about {formatNumber(Math.round(tokens))}
          </li>
        ))}
      </ul>
      <div class="row ways-out">
        <button type="button" disabled={isBusy} onClick={() => dropOldest(id)}>
          Leave out the oldest
        </button>
        <button type="button" disabled={isBusy} onClick={() => void summarizeOldest(id)}>
          Summarize the oldest
        </button>
        <button type="button" disabled={isBusy} onClick={() => void continueElsewhere(id)}>
          Go on in a new conversation
        </button>
        {summarizing.value === id && <span role="status">The model writes a summary…</span>}
      </div>
    </>
  );
}

function classOf(name: string): string {
  return `part-${name.split(" ")[0]?.toLowerCase()}`;
}
