// A box above the thread that finds words in the conversation; all messages are searched, also those that are not rendered.

import { ChevronDown, ChevronUp, X } from "lucide";
import { useEffect, useRef } from "preact/hooks";
import type { Conversation } from "../state/conversation.ts";
import { type Find, find, hitsIn, nextHit } from "../state/find.ts";
import { Icon } from "./icon.tsx";
import { t } from "../texts/texts.ts";

/** Id of the box. */
export const FIND_ID = "find";
/** Name of the marked ranges in style sheets. */
const MARK = "found";

interface FindBarProps {
  readonly conversation: Conversation;
  readonly sought: Find;
}

export function FindBar({ conversation, sought }: FindBarProps) {
  const box = useRef<HTMLInputElement>(null);
  const { words, at } = sought;
  const hits = hitsIn(conversation, words);
  const index = hits.findIndex(({ id }) => id === at);
  const close = (): void => {
    find.value = undefined;
  };
  const move = (step: 1 | -1): void => {
    find.value = { ...sought, at: nextHit(hits, at, step) };
  };
  useEffect(() => {
    if (words === "") box.current?.focus();
  }, []);
  return (
    <form
      class="find"
      role="search"
      onSubmit={(event) => (event.preventDefault(), move(1))}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        close();
      }}
    >
      <input
        id={FIND_ID}
        ref={box}
        aria-label={t.find.title}
        placeholder={t.find.title}
        value={words}
        onInput={({ currentTarget: { value } }) => {
          find.value = { ...sought, words: value, at: hitsIn(conversation, value).at(-1)?.id };
        }}
      />
      <span class="faint" role="status">
        {words.trim() === "" ? "" : t.find.place(index + 1, hits.length)}
      </span>
      <button type="button" class="ghost" aria-label={t.find.previous} onClick={() => move(-1)}>
        <Icon node={ChevronUp} size={16} />
      </button>
      <button type="button" class="ghost" aria-label={t.find.next} onClick={() => move(1)}>
        <Icon node={ChevronDown} size={16} />
      </button>
      <button type="button" class="ghost" aria-label={t.common.close} onClick={close}>
        <Icon node={X} size={16} />
      </button>
    </form>
  );
}

/** Marks the words in the rendered messages, where the browser can mark ranges; nothing is marked for "". */
export function markWords(root: HTMLElement, words: string): void {
  if (!("highlights" in CSS)) return; // an older browser scrolls there all the same
  const wanted = words.trim().toLowerCase();
  CSS.highlights.delete(MARK);
  if (wanted === "") return;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const ranges: Range[] = [];
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = (node.textContent ?? "").toLowerCase();
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, Math.min(at + wanted.length, (node.textContent ?? "").length));
      ranges.push(range);
    }
  }
  CSS.highlights.set(MARK, new Highlight(...ranges));
}
