// A summary that the server put in the place of the oldest messages, with what it saved and took.

import { ChevronRight, Scissors } from "lucide";
import { useState } from "preact/hooks";
import { formatNumber } from "../format.ts";
import type { CompactionPart } from "../state/conversation.ts";
import { Icon } from "./icon.tsx";
import { Markdown } from "./markdown.tsx";
import { t } from "../texts/texts.ts";

export function Compaction({ part: { summary, replaced, saved, spent } }: { readonly part: CompactionPart }) {
  const [isOpen, setOpen] = useState(false);
  const cost = spent === 0 ? "" : ` ${t.answer.compactionCost(formatNumber(spent))}`;
  return (
    <section class="cut" aria-label={t.answer.compacted}>
      <p class="row">
        <Icon node={Scissors} size={15} />
        <span>
          {t.answer.compaction(replaced, formatNumber(saved))}
          {cost}
        </span>
        <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {t.context.summary} <Icon node={ChevronRight} size={15} />
        </button>
      </p>
      {isOpen && <Markdown text={summary} isGrowing={false} />}
    </section>
  );
}
