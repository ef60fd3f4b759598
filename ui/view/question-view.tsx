// One message of the user, with its editor.

import { ChevronRight, Pencil, TextSearch } from "lucide";
import { useState } from "preact/hooks";
import { editQuestion } from "../state/chat.ts";
import { isRunning } from "../state/running.ts";
import type { Conversation, Excerpt, UserMessage } from "../state/conversation.ts";
import { plural } from "../format.ts";
import { Alternatives } from "./alternatives.tsx";
import { CopyButton } from "./code-block.tsx";
import { Icon } from "./icon.tsx";
import { MessageFiles } from "./message-files.tsx";

interface QuestionProps {
  readonly conversation: Conversation;
  readonly message: UserMessage;
}

export function QuestionView({ conversation, message }: QuestionProps) {
  const [isEdited, setEdited] = useState(false);
  if (isEdited) {
    return <QuestionEditor {...{ conversation, message }} onDone={() => setEdited(false)} />;
  }
  return (
    <article class="question" aria-label="You">
      <MessageFiles attachments={message.attachments} />
      {message.text !== "" && <div class="bubble">{message.text}</div>}
      {message.excerpts?.map((excerpt) => (
        <ExcerptView key={excerpt.file} excerpt={excerpt} />
      ))}
      <div class="actions">
        <Alternatives conversation={conversation} message={message} />
        <CopyButton text={message.text} what="question" />
        <button
          type="button"
          class="ghost"
          onClick={() => setEdited(true)}
          disabled={isRunning(conversation.id)}
          aria-label="Edit question"
          title="Edit question"
        >
          <Icon node={Pencil} size={15} />
        </button>
      </div>
    </article>
  );
}

/** The passages of a large file that were sent. */
function ExcerptView({ excerpt: { file, total, passages } }: { readonly excerpt: Excerpt }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <section class="excerpt">
      <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon node={TextSearch} size={16} />
        <span>
          Sent {passages.length} of {plural(total, "passage")} of {file}
        </span>
        <Icon node={ChevronRight} size={15} />
      </button>
      {isOpen && (
        <ol class="folded" tabIndex={0} aria-label={`Passages of ${file}`}>
          {passages.map(({ index, text }) => (
            <li key={index} value={index + 1}>
              {text}
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function QuestionEditor({ conversation, message, onDone }: QuestionProps & { readonly onDone: () => void }) {
  const [text, setText] = useState(message.text);
  const submit = (): void => {
    if (text.trim() === "" && message.attachments.length === 0) return;
    onDone();
    editQuestion(conversation.id, message, text);
  };
  return (
    <form
      class="question editor"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        aria-label="Edit question"
        value={text}
        rows={Math.min(12, text.split("\n").length + 1)}
        ref={(area) => area?.focus()}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onDone();
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
        }}
      />
      <div class="actions shown">
        <button type="button" onClick={onDone}>
          Cancel
        </button>
        <button type="submit" class="primary">
          Resend
        </button>
      </div>
    </form>
  );
}
