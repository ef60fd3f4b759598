// One message of the user, with its editor.

import { ChevronRight, CornerDownLeft, Pencil, TextSearch } from "lucide";
import { useState } from "preact/hooks";
import { answerQuestion, editQuestion } from "../state/chat.ts";
import { isRunning } from "../state/running.ts";
import { type Conversation, type Excerpt, thread, type UserMessage } from "../state/conversation.ts";
import { Alternatives } from "./alternatives.tsx";
import { CopyButton } from "./code-block.tsx";
import { Icon } from "./icon.tsx";
import { MessageFiles } from "./message-files.tsx";
import { MessageMenu } from "./message-menu.tsx";
import { TextEditor } from "./text-editor.tsx";
import { t } from "../texts/texts.ts";

interface QuestionProps {
  readonly conversation: Conversation;
  readonly message: UserMessage;
}

export function QuestionView({ conversation, message }: QuestionProps) {
  const [isEdited, setEdited] = useState(false);
  if (isEdited) {
    const submit = (text: string): void => {
      if (text.trim() === "" && message.attachments.length === 0) return;
      setEdited(false);
      editQuestion(conversation.id, message, text);
    };
    return (
      <TextEditor
        label={t.question.edit}
        action={t.question.resend}
        text={message.text}
        onSubmit={submit}
        onCancel={() => setEdited(false)}
      />
    );
  }
  const isUnanswered = !isRunning(conversation.id) && thread(conversation).at(-1)?.id === message.id;
  return (
    <article class="question" aria-label={t.question.you} data-message={message.id}>
      <MessageFiles attachments={message.attachments} />
      {message.text !== "" && <div class="bubble">{message.text}</div>}
      {message.excerpts?.map((excerpt) => (
        <ExcerptView key={excerpt.file} excerpt={excerpt} />
      ))}
      <div class="actions">
        <Alternatives conversation={conversation} message={message} />
        <CopyButton text={message.text} label={t.blocks.copyQuestion} />
        <button
          type="button"
          class="ghost"
          onClick={() => setEdited(true)}
          disabled={isRunning(conversation.id)}
          aria-label={t.question.edit}
          title={t.question.edit}
        >
          <Icon node={Pencil} size={15} />
        </button>
        <MessageMenu {...{ conversation, message }} />
        {isUnanswered && (
          <button type="button" class="ghost" onClick={() => answerQuestion(conversation.id)}>
            <Icon node={CornerDownLeft} size={15} /> {t.question.answer}
          </button>
        )}
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
        <span>{t.question.sent(passages.length, total, file)}</span>
        <Icon node={ChevronRight} size={15} />
      </button>
      {isOpen && (
        <ol class="folded" tabIndex={0} aria-label={t.files.passagesOf(file)}>
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
