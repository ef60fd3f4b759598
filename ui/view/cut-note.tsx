// Marks the place before which messages are not sent, with the summary that replaces them.

import { ChevronRight, Scissors } from "lucide";
import { useState } from "preact/hooks";
import type { Conversation } from "../state/conversation.ts";
import { sendAll } from "../state/ways-out.ts";
import { Icon } from "./icon.tsx";
import { Markdown } from "./markdown.tsx";
import { t } from "../texts/texts.ts";

export function CutNote({ conversation: { id, cut } }: { readonly conversation: Conversation }) {
  const [isOpen, setOpen] = useState(false);
  if (cut === undefined) return null;
  const { from, summary } = cut;
  const text =
    from === null ? t.context.fromEarlier : summary === "" ? t.context.notSent : t.context.summarized;
  return (
    <section class="cut" aria-label={t.context.cut}>
      <p class="row">
        <Icon node={Scissors} size={15} />
        <span>{text}</span>
        {summary !== "" && (
          <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {t.context.summary} <Icon node={ChevronRight} size={15} />
          </button>
        )}
        <button type="button" class="ghost" onClick={() => sendAll(id)}>
          {from === null ? t.context.remove : t.context.sendAgain}
        </button>
      </p>
      {isOpen && <Markdown text={summary} isGrowing={false} />}
    </section>
  );
}
