// One answer: text, reasoning, tool calls, files and figures.

import { RefreshCw, TriangleAlert } from "lucide";
import { continueAnswer, fetchAgain, regenerate } from "../state/chat.ts";
import { CONNECTION_LOST } from "../api/read-events.ts";
import { isLost, isRunning } from "../state/running.ts";
import { useState } from "preact/hooks";
import { change } from "../state/conversations.ts";
import { withEditedAnswer } from "../state/edits.ts";
import { newId } from "../state/new-id.ts";
import {
  type AssistantMessage,
  type Conversation,
  type Part,
  answerText,
  isCut,
  isTooLong,
} from "../state/conversation.ts";
import { Alternatives } from "./alternatives.tsx";
import { CodeBlock, CopyButton } from "./code-block.tsx";
import { FilesView } from "./files-view.tsx";
import { formatNumber, formatSecs, plural } from "../format.ts";
import { Icon } from "./icon.tsx";
import { Markdown } from "./markdown.tsx";
import { MessageMenu } from "./message-menu.tsx";
import { TextEditor } from "./text-editor.tsx";
import { ReadAloud } from "./read-aloud.tsx";
import { Reasoning } from "./reasoning.tsx";
import { ToolCall } from "./tool-call.tsx";

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
        label="Edit answer"
        action="Save"
        text={answerText(message)}
        onSubmit={submit}
        onCancel={() => setEdited(false)}
      />
    );
  }
  return (
    <article class="answer" aria-label="Answer" aria-busy={isGrowing}>
      {parts.map((part, index) => (
        <PartView
          key={index}
          {...{ conversation, message, part }}
          isLast={isGrowing && index === parts.length - 1}
        />
      ))}
      {isGrowing && parts.length === 0 && <p class="thinking">Waiting for the model…</p>}
      {isLost(message.id) && (
        <p class="faint" role="status">
          The connection was lost. Reconnecting…
        </p>
      )}
      <Ending message={message} />
      {!isRunning(conversation.id) && <WaysOn {...{ conversation, message }} />}
      {!isGrowing && (
        <div class="actions">
          <Alternatives conversation={conversation} message={message} />
          <CopyButton text={answerText(message)} what="answer" />
          <ReadAloud owner={message.id} markdown={answerText(message)} />
          <button
            type="button"
            class="ghost"
            onClick={() => regenerate(conversation.id, message)}
            disabled={isRunning(conversation.id)}
            aria-label="Regenerate answer"
            title="Regenerate answer"
          >
            <Icon node={RefreshCw} size={15} />
          </button>
          <MessageMenu {...{ conversation, message }} onEdit={() => setEdited(true)} />
          {message.edited === true && <span class="figures">Edited</span>}
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
    case "files":
      return <FilesView files={part.files} />;
    case "call":
      return (
        <div class="tool">
          <p>
            The model called the function <code>{part.name}</code>, which this server does not provide.
          </p>
          <CodeBlock code={part.arguments} language="json" />
        </div>
      );
  }
}

/** What can be done about an answer that ended early. */
function WaysOn({ conversation, message }: AnswerProps) {
  if (message.code === CONNECTION_LOST) {
    return (
      <button type="button" onClick={() => fetchAgain(conversation.id, message)}>
        Fetch the rest
      </button>
    );
  }
  if (!isCut(message)) return null;
  return (
    <button type="button" onClick={() => continueAnswer(conversation.id, message)}>
      Continue the answer
    </button>
  );
}

/** Error, stop or truncation of an answer, if any. */
function Ending({ message }: { readonly message: AssistantMessage }) {
  const { state, error, finish, parts } = message;
  if (state === "failed") {
    return (
      <p class="problem" role="alert">
        <Icon node={TriangleAlert} />
        <span>
          {error}
          {isTooLong(message) &&
            " Later questions are sent without this one. Edit it to shorten it, or start a new conversation."}
        </span>
      </p>
    );
  }
  if (state === "stopped") return <p class="faint">Stopped.</p>;
  if (finish === "length")
    return <p class="faint">Truncated: the answer reached the token limit or the end of the context.</p>;
  if (state === "done" && parts.length === 0) return <p class="faint">The answer is empty.</p>;
  return null;
}

function FiguresLine({ message: { figures, firstTokenMs, model } }: { readonly message: AssistantMessage }) {
  if (figures === undefined) return null;
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens, speed, totalSecs } = figures;
  const details = [
    `${plural(promptTokens, "prompt token")}${cachedTokens > 0 ? `, ${formatNumber(cachedTokens)} cached` : ""}`,
    reasoningTokens > 0 ? plural(reasoningTokens, "reasoning token") : "",
    firstTokenMs === undefined ? "" : `${formatSecs(firstTokenMs / 1000)} to first token`,
    `${formatSecs(totalSecs)} total`,
    model === "" ? "" : model,
  ];
  return (
    <span class="figures" title={details.filter((text) => text !== "").join("\n")}>
      {plural(completionTokens, "token")} · {formatNumber(speed)} tok/s
      {firstTokenMs !== undefined && (
        <span class="wide"> · {formatSecs(firstTokenMs / 1000)} to first token</span>
      )}
    </span>
  );
}
