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
import { t } from "../texts/texts.ts";

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
    <div
      class={`context-meter ${isNearlyFull ? "nearly-full" : "faint"}`}
      role="group"
      aria-label={t.context.used}
    >
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
          value={Math.min(max, Math.round(use.next))}
          aria-hidden="true" // the text beside it says the same
        />
        <span>
          {t.context.share(Math.round(share * 100), formatNumber(Math.round(use.next)), formatNumber(max))}
        </span>
        <Icon node={ChevronRight} size={14} />
      </button>
      {share > 1 && <p role="status">{t.context.tooMuch}</p>}
      {isNearlyFull && share <= 1 && <p>{t.context.nearlyFull}</p>}
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
          <span key={name} class={`part-${name}`} style={{ width: `${(tokens / max) * 100}%` }} />
        ))}
      </div>
      <ul class="context-parts">
        {parts.map(({ name, tokens }) => (
          <li key={name}>
            <span class={`swatch part-${name}`} />
            {t.context.part(t.context.parts[name], formatNumber(Math.round(tokens)))}
          </li>
        ))}
      </ul>
      <div class="row ways-out">
        <button type="button" disabled={isBusy} onClick={() => dropOldest(id)}>
          {t.context.dropOldest}
        </button>
        <button type="button" disabled={isBusy} onClick={() => void summarizeOldest(id)}>
          {t.context.summarizeOldest}
        </button>
        <button type="button" disabled={isBusy} onClick={() => void continueElsewhere(id)}>
          {t.context.elsewhere}
        </button>
        {summarizing.value === id && <span role="status">{t.context.summarizing}</span>}
      </div>
    </>
  );
}
