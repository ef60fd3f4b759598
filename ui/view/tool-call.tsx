// One server-executed tool call: input, result, and its approval.

import {
  ChevronRight,
  CircleCheck,
  CircleX,
  Code,
  Globe,
  LoaderCircle,
  ShieldQuestion,
  Terminal,
  Wrench,
} from "lucide";
import type { ComponentChild } from "preact";
import { useState } from "preact/hooks";
import type { AssistantMessage, Conversation, ToolData, ToolPart } from "../state/conversation.ts";
import { ApprovalCard } from "./approval-card.tsx";
import { CodeBlock } from "./code-block.tsx";
import { formatSecs } from "../format.ts";
import { Icon } from "./icon.tsx";
import { t } from "../texts/texts.ts";

interface ToolCallProps {
  readonly conversation: Conversation;
  readonly message: AssistantMessage;
  readonly part: ToolPart;
}

export function ToolCall({ conversation, message, part }: ToolCallProps) {
  const [isOpen, setOpen] = useState(false);
  const { name, input, output, approval } = part;
  const state = stateOf(part, message.state === "running");
  const { icon, title } = kindOf(input, name);
  if (approval?.decision === "pending") {
    return <ApprovalCard {...{ conversation, message, approval, icon }} />;
  }
  return (
    <section class={`tool ${state}`} aria-label={title}>
      <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon node={icon} size={16} />
        <span class="tool-title">{title}</span>
        <span class="faint">{summary(state, part)}</span>
        <Icon node={STATE_ICONS[state]} size={16} />
        <Icon node={ChevronRight} size={15} />
      </button>
      {!isOpen && <Images data={output} />}
      {isOpen && (
        <div class="folded">
          <Input data={input} />
          {output !== undefined && <Output data={output} />}
          <Images data={output} />
        </div>
      )}
    </section>
  );
}

type State = "working" | "done" | "failed" | "refused";

const STATE_ICONS = {
  working: LoaderCircle,
  done: CircleCheck,
  failed: CircleX,
  refused: ShieldQuestion,
} as const;

function stateOf({ output, approval }: ToolPart, isAnswerRunning: boolean): State {
  if (approval?.decision === "deny" || output?.status === "denied") return "refused";
  if (output === undefined) return isAnswerRunning ? "working" : "failed";
  const { exception, exit_code: exit, timed_out: isLate } = output;
  return exception !== undefined || isLate === true || (exit ?? 0) !== 0 ? "failed" : "done";
}

function kindOf({ tool_type, query, commands }: ToolData, name: string) {
  switch (tool_type) {
    case "code_execution":
      return { icon: Code, title: "Python" };
    case "shell":
      return { icon: Terminal, title: commands?.[0] === undefined ? t.tools.shell : `Shell: ${commands[0]}` };
    case "web_search":
      return { icon: Globe, title: query === undefined ? t.tools.webPage : t.tools.webSearch(query) };
    default:
      return { icon: Wrench, title: name };
  }
}

function summary(state: State, { input, output }: ToolPart): string {
  if (state === "working") return input.message ?? t.tools.running;
  if (state === "refused") return t.tools.denied;
  if (output === undefined) return t.tools.noResult;
  if (output.timed_out === true) return t.tools.timedOut;
  if (typeof output.exit_code === "number" && output.exit_code !== 0)
    return t.tools.exitCode(output.exit_code);
  if (output.results_count !== undefined) return t.count.result(output.results_count);
  return output.execution_time_ms === undefined ? "" : formatSecs(output.execution_time_ms / 1000);
}

function Input({ data }: { readonly data: ToolData }) {
  const { code, commands, query } = data;
  if (code !== undefined) return <CodeBlock code={code} language="python" />;
  if (commands !== undefined) return <CodeBlock code={commands.join("\n")} language="bash" />;
  if (query !== undefined) return <p>{query}</p>;
  return data.arguments === undefined ? null : <CodeBlock code={indented(data.arguments)} language="json" />;
}

function Output({ data }: { readonly data: ToolData }) {
  const { stdout, stderr, exception, content, result, sources, error, working_directory: folder } = data;
  return (
    <>
      <Text title={t.tools.output} text={stdout ?? content} />
      <Text title={t.tools.value} text={result} />
      <Text title={t.tools.errors} text={stderr ?? error} />
      <Text title={t.tools.exception} text={exception} />
      {sources !== undefined && sources.length > 0 && (
        <Labelled title={t.tools.sources}>
          <p>{sources.join(", ")}</p>
        </Labelled>
      )}
      {folder !== undefined && <p class="faint">{t.tools.inFolder(folder)}</p>}
    </>
  );
}

function Text({ title, text = "" }: { readonly title: string; readonly text?: string | undefined }) {
  if (text === "") return null;
  return (
    <Labelled title={title}>
      <pre class="output" tabIndex={0}>
        {text}
      </pre>
    </Labelled>
  );
}

function Labelled({ title, children }: { readonly title: string; readonly children: ComponentChild }) {
  return (
    <div>
      <p class="label">{title}</p>
      {children}
    </div>
  );
}

function Images({ data }: { readonly data: ToolData | undefined }) {
  const images = [...(data?.images_base64 ?? []), ...(data?.video_frames_base64 ?? [])];
  if (images.length === 0) return null;
  return (
    <div class="images">
      {images.map((base64, index) => (
        <img src={`data:image/png;base64,${base64}`} alt={t.tools.result(index + 1)} />
      ))}
    </div>
  );
}

/** Indented JSON; other text unchanged. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
