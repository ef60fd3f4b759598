// What the model, and the server for it, has said and done.

import { RefreshCw, TriangleAlert } from "lucide";
import { regenerate } from "../state/chat.ts";
import { isRunning } from "../state/running.ts";
import { type AssistantMessage, type Conversation, type Part, spokenText } from "../state/conversation.ts";
import { Alternatives } from "./alternatives.tsx";
import { CodeBlock, CopyButton } from "./code-block.tsx";
import { FilesView } from "./files-view.tsx";
import { formatNumber, formatSecs, plural } from "../format.ts";
import { Icon } from "./icon.tsx";
import { Markdown } from "./markdown.tsx";
import { ReadAloud } from "./read-aloud.tsx";
import { Reasoning } from "./reasoning.tsx";
import { ToolCall } from "./tool-call.tsx";

interface AnswerProps {
  readonly conversation: Conversation;
  readonly message: AssistantMessage;
}

export function AnswerView({ conversation, message }: AnswerProps) {
  const { parts, state } = message;
  const isGrowing = state === "running";
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
      <Ending message={message} />
      {!isGrowing && (
        <div class="actions">
          <Alternatives conversation={conversation} message={message} />
          <CopyButton text={spokenText(message)} what="answer" />
          <ReadAloud owner={message.id} markdown={spokenText(message)} />
          <button
            type="button"
            class="ghost"
            onClick={() => regenerate(conversation.id, message)}
            disabled={isRunning(conversation.id)}
            aria-label="Answer again"
            title="Answer again"
          >
            <Icon node={RefreshCw} size={15} />
          </button>
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
            The model wants <code>{part.name}</code> to be called; nobody here knows that function.
          </p>
          <CodeBlock code={part.arguments} language="json" />
        </div>
      );
  }
}

/** How it ended, where that is not the ordinary way. */
function Ending({ message: { state, error, finish, parts } }: { readonly message: AssistantMessage }) {
  if (state === "failed") {
    return (
      <p class="problem" role="alert">
        <Icon node={TriangleAlert} />
        <span>{error}</span>
      </p>
    );
  }
  if (state === "stopped") return <p class="faint">Stopped.</p>;
  if (finish === "length")
    return <p class="faint">Cut off: the answer reached the token limit or the end of the context.</p>;
  if (state === "done" && parts.length === 0) return <p class="faint">The model said nothing.</p>;
  return null;
}

function FiguresLine({ message: { figures, firstTokenMs, model } }: { readonly message: AssistantMessage }) {
  if (figures === undefined) return null;
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens, speed, totalSecs } = figures;
  const details = [
    `${plural(promptTokens, "prompt token")}${cachedTokens > 0 ? `, ${formatNumber(cachedTokens)} of them from the cache` : ""}`,
    reasoningTokens > 0 ? `${plural(reasoningTokens, "token")} of reasoning` : "",
    firstTokenMs === undefined ? "" : `first token after ${formatSecs(firstTokenMs / 1000)}`,
    `${formatSecs(totalSecs)} in all`,
    model === "" ? "" : model,
  ];
  return (
    <span class="figures" title={details.filter((text) => text !== "").join("\n")}>
      {plural(completionTokens, "token")} · {formatNumber(speed)} tok/s
      {firstTokenMs !== undefined && (
        <span class="wide"> · {formatSecs(firstTokenMs / 1000)} to the first</span>
      )}
    </span>
  );
}
