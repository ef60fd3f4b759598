// One answer: text, reasoning, tool calls, files and figures.

import { RefreshCw, TriangleAlert } from "lucide";
import { askShorter, continueAnswer, fetchAgain, regenerate } from "../state/chat.ts";
import { CONNECTION_LOST } from "../api/read-events.ts";
import { isLost, isRunning } from "../state/running.ts";
import { useState } from "preact/hooks";
import { change } from "../state/conversations.ts";
import { withEditedAnswer } from "../state/edits.ts";
import { newId } from "../state/new-id.ts";
import { addressOf } from "../state/route.ts";
import { continueElsewhere } from "../state/ways-out.ts";
import {
  type AssistantMessage,
  type Conversation,
  type Part,
  answerText,
  isCut,
  isTooLong,
} from "../state/conversation.ts";
import { Alternatives } from "./alternatives.tsx";
import { Compaction } from "./compaction.tsx";
import { CodeBlock, CopyButton } from "./code-block.tsx";
import { FilesView } from "./files-view.tsx";
import { formatNumber, formatSecs } from "../format.ts";
import { Icon } from "./icon.tsx";
import { Markdown } from "./markdown.tsx";
import { MessageMenu } from "./message-menu.tsx";
import { TextEditor } from "./text-editor.tsx";
import { ReadAloud } from "./read-aloud.tsx";
import { Reasoning } from "./reasoning.tsx";
import { ToolCall } from "./tool-call.tsx";
import { t } from "../texts/texts.ts";

interface AnswerProps {
  readonly conversation: Conversation;
  readonly message: AssistantMessage;
}

export function AnswerView({ conversation, message }: AnswerProps) {
  const [isEdited, setEdited] = useState(false);
  const { parts, state } = message;
  const isGrowing = state === "running";
  if (isEdited) {
    const submit = (text: string): void => {
      setEdited(false);
      if (text.trim() === "") return;
      change(conversation.id, (before) => withEditedAnswer(before, message, { id: newId(), text }));
    };
    return (
      <TextEditor
        label={t.answer.edit}
        action={t.common.save}
        text={answerText(message)}
        onSubmit={submit}
        onCancel={() => setEdited(false)}
      />
    );
  }
  return (
    <article class="answer" aria-label={t.answer.title} aria-busy={isGrowing} data-message={message.id}>
      {parts.map((part, index) => (
        <PartView
          key={index}
          {...{ conversation, message, part }}
          isLast={isGrowing && index === parts.length - 1}
        />
      ))}
      {isGrowing && isWordless(message) && <p class="thinking">{waitText(message.waitsFor)}</p>}
      {isLost(message.id) && (
        <p class="faint" role="status">
          {t.answer.reconnecting}
        </p>
      )}
      <Ending message={message} />
      {!isRunning(conversation.id) && <WaysOn {...{ conversation, message }} />}
      {!isGrowing && (
        <div class="actions">
          <Alternatives conversation={conversation} message={message} />
          <CopyButton text={answerText(message)} label={t.blocks.copyAnswer} />
          <ReadAloud owner={message.id} markdown={answerText(message)} />
          <button
            type="button"
            class="ghost"
            onClick={() => regenerate(conversation.id, message)}
            disabled={isRunning(conversation.id)}
            aria-label={t.answer.regenerate}
            title={t.answer.regenerate}
          >
            <Icon node={RefreshCw} size={15} />
          </button>
          <MessageMenu {...{ conversation, message }} onEdit={() => setEdited(true)} />
          {message.edited === true && <span class="figures">{t.answer.edited}</span>}
          <FiguresLine message={message} />
        </div>
      )}
    </article>
  );
}

function PartView({ conversation, message, part, isLast }: AnswerProps & { part: Part; isLast: boolean }) {
  switch (part.type) {
    case "text":
      return <Markdown text={part.text} isGrowing={isLast} />;
    case "reasoning":
      return <Reasoning text={part.text} isGrowing={isLast} />;
    case "tool":
      return <ToolCall {...{ conversation, message, part }} />;
    case "compaction":
      return <Compaction part={part} />;
    case "files":
      return <FilesView files={part.files} />;
    case "call":
      return (
        <div class="tool">
          <p>
            {t.answer.called} <code>{part.name}</code>
            {t.answer.notProvided}
          </p>
          <CodeBlock code={part.arguments} language="json" />
        </div>
      );
  }
}

function isWordless({ parts }: AssistantMessage): boolean {
  return parts.every(({ type }) => type === "compaction");
}

/** What can be done about an answer that ended early. */
function WaysOn({ conversation, message }: AnswerProps) {
  if (message.code === CONNECTION_LOST) {
    return (
      <button type="button" onClick={() => fetchAgain(conversation.id, message)}>
        {t.answer.fetchRest}
      </button>
    );
  }
  if (isCut(message)) {
    return (
      <button type="button" onClick={() => continueAnswer(conversation.id, message)}>
        {t.answer.goOn}
      </button>
    );
  }
  if (message.state !== "failed") return null;
  return isTooLong(message) ? (
    <WaysOutOfLength {...{ conversation, message }} />
  ) : (
    <p class="row">
      <button type="button" onClick={() => regenerate(conversation.id, message)}>
        {t.common.again}
      </button>
      {MODEL_CODES.has(message.code ?? "") && (
        <a href={addressOf({ page: "models" })}>{t.answer.seeModels}</a>
      )}
    </p>
  );
}

/** Codes of errors that another model or a loaded one would not have. */
const MODEL_CODES: ReadonlySet<string> = new Set([
  "model_not_found",
  "model_unavailable",
  "adapter_not_found",
]);

function WaysOutOfLength({ conversation: { id }, message }: AnswerProps) {
  return (
    <p class="row">
      <button type="button" onClick={() => askShorter(id, message)}>
        {t.answer.shorter}
      </button>
      <button type="button" onClick={() => void continueElsewhere(id)}>
        {t.context.elsewhere}
      </button>
    </p>
  );
}

/** What an answer without a word waits for. */
function waitText(wait: AssistantMessage["waitsFor"]): string {
  if (wait === undefined) return t.answer.waiting;
  if (wait.type === "load") return t.answer.loading(wait.percent);
  if (wait.type === "queue") return t.answer.queued(wait.before);
  const { read, total, perSec, secsLeft } = wait;
  const reading = t.answer.reading(formatNumber(read), formatNumber(total));
  if (perSec === undefined || secsLeft === undefined) return reading;
  return `${reading} ${t.answer.pace(formatNumber(Math.round(perSec)), formatNumber(Math.ceil(secsLeft)))}`;
}

/** Error, stop or truncation of an answer, if any. */
function Ending({ message }: { readonly message: AssistantMessage }) {
  const { state, error, finish } = message;
  if (state === "failed") {
    return (
      <p class="problem" role="alert">
        <Icon node={TriangleAlert} />
        <span>
          {error}
          {isTooLong(message) && t.answer.tooLong}
        </span>
      </p>
    );
  }
  if (state === "stopped") return <p class="faint">{t.answer.stopped}</p>;
  if (finish === "length") return <p class="faint">{t.answer.truncated}</p>;
  if (finish === "content_filter") return <p class="faint">{t.answer.filtered}</p>;
  if (state === "done" && isWordless(message)) return <p class="faint">{t.answer.empty}</p>;
  return null;
}

function FiguresLine({ message: { figures, firstTokenMs, model } }: { readonly message: AssistantMessage }) {
  if (figures === undefined) return null;
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens, speed, totalSecs } = figures;
  const details = [
    cachedTokens > 0
      ? t.answer.cached(t.count.promptToken(promptTokens), formatNumber(cachedTokens))
      : t.count.promptToken(promptTokens),
    reasoningTokens > 0 ? t.count.reasoningToken(reasoningTokens) : "",
    firstTokenMs === undefined ? "" : t.answer.firstToken(formatSecs(firstTokenMs / 1000)),
    t.answer.total(formatSecs(totalSecs)),
    model === "" ? "" : model,
  ];
  return (
    <span class="figures" title={details.filter((text) => text !== "").join("\n")}>
      {t.count.token(completionTokens)} · {t.answer.speed(formatNumber(speed))}
      {firstTokenMs !== undefined && (
        <span class="wide"> · {t.answer.firstToken(formatSecs(firstTokenMs / 1000))}</span>
      )}
    </span>
  );
}
