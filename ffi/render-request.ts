// The JSON in which a prompt goes to svc_render_begin: messages in the form that llama.cpp's common library and the models'
// templates expect.

import { createHash } from "node:crypto";
import type { Message } from "../src/core/message.ts";
import type { Prompt } from "../src/core/run.ts";
import type { MediaFiles } from "./media-files.ts";

type ChatPrompt = Extract<Prompt, { type: "chat" }>;

/** What rendering is done with besides the prompt. */
export interface RenderOptions {
  /** Give tool calls ids of nine letters and digits, the only kind that some templates of Mistral take. */
  readonly shortIds: boolean;
  /** Collects the files of the messages; absent where there are none. */
  readonly files: MediaFiles | undefined;
}

/** The id in nine letters and digits, the only kind that some templates of Mistral take. */
function shortId(id: string): string {
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, 9);
}

/** A message in the form that llama.cpp's common library and the models' templates expect. */
function toTemplateMessage(message: Message, { shortIds, files }: RenderOptions): Record<string, unknown> {
  const toId = (id: string): string => (shortIds ? shortId(id) : id);
  const calls = message.toolCalls?.map((call) => ({
    id: toId(call.id),
    type: "function",
    function: { name: call.name, arguments: call.arguments },
  }));
  return {
    role: message.role,
    content: message.content
      .map((part) => (part.type === "text" ? part.text : (files?.place(part) ?? "")))
      .join(""),
    ...(message.reasoning === undefined ? {} : { reasoning_content: message.reasoning }),
    ...(calls === undefined || calls.length === 0 ? {} : { tool_calls: calls }),
    ...(message.toolCallId === undefined ? {} : { tool_call_id: toId(message.toolCallId) }),
    ...(message.name === undefined ? {} : { name: message.name }),
  };
}

/** Whether the answer must be a tool call. */
export function mustCall({ toolChoice }: Pick<ChatPrompt, "toolChoice">): boolean {
  return toolChoice.type === "required" || (toolChoice.type === "named" && toolChoice.required);
}

/** The tools that the model is shown, and whether it must call one. A choice among them hides the others. */
function templateTools({ tools, toolChoice }: ChatPrompt): Record<string, unknown> {
  const named = toolChoice.type === "named" ? toolChoice.names : undefined;
  const offered = named === undefined ? tools : tools.filter(({ name }) => named.includes(name));
  if (offered.length === 0 || toolChoice.type === "none") return {};
  return {
    tools: offered.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, description: description ?? "", parameters },
    })),
    tool_choice: mustCall({ toolChoice }) ? "required" : "auto",
  };
}

/** The JSON that svc_render_begin and svc_render_media_begin take. */
export function renderRequest(prompt: Exclude<Prompt, { type: "tokens" }>, options: RenderOptions): string {
  if (prompt.type === "text") {
    return JSON.stringify({
      prompt: prompt.text,
      ...(prompt.suffix === undefined ? {} : { suffix: prompt.suffix }),
    });
  }
  const { effort, enabled } = prompt.thinking;
  // The effort goes in under both names that templates use; each takes the one it knows. Spec: Reasoning rules, 4.
  const kwargs = effort === undefined ? {} : { reasoning_effort: effort, reasoning_strength: effort };
  return JSON.stringify({
    messages: prompt.messages.map((message) => toTemplateMessage(message, options)),
    enable_thinking: enabled,
    kwargs,
    ...templateTools(prompt),
    ...options.files?.described(),
  });
}
