// The model's reasoning: open while it goes on, folded afterwards, unless the reader wants it otherwise.

import { Brain, ChevronRight } from "lucide";
import { useState } from "preact/hooks";
import { Icon } from "./icon.tsx";
import { Markdown } from "./markdown.tsx";

interface ReasoningProps {
  readonly text: string;
  readonly isGrowing: boolean;
}

export function Reasoning({ text, isGrowing }: ReasoningProps) {
  const [wish, setWish] = useState<boolean>();
  const isOpen = wish ?? isGrowing;
  return (
    <section class="reasoning" aria-label="Reasoning">
      <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setWish(!isOpen)}>
        <Icon node={Brain} size={16} />
        <span>{isGrowing ? "Thinking…" : "Reasoning"}</span>
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
