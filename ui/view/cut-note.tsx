// Marks the place before which messages are not sent, with the summary that replaces them.

import { ChevronRight, Scissors } from "lucide";
import { useState } from "preact/hooks";
import type { Conversation } from "../state/conversation.ts";
import { sendAll } from "../state/ways-out.ts";
import { Icon } from "./icon.tsx";
import { Markdown } from "./markdown.tsx";

export function CutNote({ conversation: { id, cut } }: { readonly conversation: Conversation }) {
  const [isOpen, setOpen] = useState(false);
  if (cut === undefined) return null;
  const { from, summary } = cut;
  const text =
    from === null
      ? "The model gets a summary of an earlier conversation."
      : summary === ""
        ? "The model does not get the messages above."
        : "The model gets a summary of the messages above.";
  return (
    <section class="cut" aria-label="Cut">
      <p class="row">
        <Icon node={Scissors} size={15} />
        <span>{text}</span>
        {summary !== "" && (
          <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            Summary <Icon node={ChevronRight} size={15} />
          </button>
        )}
        <button type="button" class="ghost" onClick={() => sendAll(id)}>
          {from === null ? "Remove it" : "Send them again"}
        </button>
      </p>
      {isOpen && <Markdown text={summary} isGrowing={false} />}
    </section>
  );
}
