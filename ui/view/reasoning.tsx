// The model's reasoning: expanded while it grows, collapsed afterwards, unless the user toggles it.

import { Brain, ChevronRight } from "lucide";
import { useState } from "preact/hooks";
import { Icon } from "./icon.tsx";
import { Markdown } from "./markdown.tsx";
import { t } from "../texts/texts.ts";

interface ReasoningProps {
  readonly text: string;
  readonly isGrowing: boolean;
}

export function Reasoning({ text, isGrowing }: ReasoningProps) {
  const [choice, setChoice] = useState<boolean>();
  const isOpen = choice ?? isGrowing;
  return (
    <section class="reasoning" aria-label={t.answer.reasoning}>
      <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setChoice(!isOpen)}>
        <Icon node={Brain} size={16} />
        <span>{isGrowing ? t.answer.thinking : t.answer.reasoning}</span>
        <Icon node={ChevronRight} size={15} />
      </button>
      {isOpen && (
        <div class="folded">
          <Markdown text={text} isGrowing={isGrowing} />
        </div>
      )}
    </section>
  );
}
