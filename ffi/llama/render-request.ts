// Builds the JSON request of svc_render_begin: messages in the form that llama.cpp's common library and chat templates
// expect.
// llama.cpp's own grammars of answers are turned off (unused-grammars.patch): llguidance constrains, and they took 0.3 s for 1,000
// tools.

import { hash } from "node:crypto";
import { defined } from "../../src/core/defined.ts";
import { isShapely } from "../../src/core/json-shape.ts";
import type { Message, ToolSpec } from "../../src/core/message.ts";
import { type GapPrompt, isSingleCall, mustCall, type Prompt, type Thinking } from "../../src/core/run.ts";
import { effortFields, type Efforts } from "./efforts.ts";
import { genericMessages, withTools } from "./generic-tools.ts";
import type { MediaFiles } from "./media-files.ts";
import type { Recent } from "../../src/core/recent.ts";
import type { QueryDocument } from "../../src/worker/text/embed-backend.ts";
import { parserSchema, typed } from "../../src/grammar/rewritten-schemas.ts";
import { Schema } from "../../src/grammar/schema-shapes.ts";

/** A document and its query; see EmbedBackend. */
export interface PairPrompt extends Omit<QueryDocument, "truncate"> {
  readonly type: "pair";
  /** Maximum tokens of the pair; the document's end is cut. */
  readonly roomTokens?: number;
}

/** A text to embed: what looks like a control token in it is text. */
export interface LiteralPrompt {
  readonly type: "literal";
  readonly text: string;
}

/** Input of native rendering. */
export type NativePrompt = Exclude<Prompt, { type: "tokens" }> | PairPrompt | LiteralPrompt;

type ChatPrompt = Extract<Prompt, { type: "chat" }>;

/** Options of rendering besides the prompt. */
export interface RenderOptions {
  /** Use tool call ids of nine letters and digits, the only form that some Mistral templates accept. */
  readonly shortIds: boolean;
  /** The template does not support tools: they and their calls use the generic format. */
  readonly generic: boolean;
  /** The template shows no tools: they are described with this call, which it has written. */
  readonly example?: string | undefined;
  /** The template requires a type in every tool schema. */
  readonly typed: boolean;
  /** Collects the media files of the messages; absent without media. */
  readonly files: MediaFiles | undefined;
  /** Longest sequence of the model, tokens. */
  readonly contextTokens: number;
  /** Default for requests that do not say whether the model thinks. */
  readonly thinkingDefault: "on" | "template";
  /** Words of the template for efforts. */
  readonly efforts: Pick<Efforts, "wordOf">;
  /** Texts of recent lists of tools. */
  readonly toolTexts: Recent<ToolTexts>;
}

/** JSON of a list of tools, for llama.cpp's parser of calls and for the template. */
export interface ToolTexts {
  readonly tools: string;
  readonly template_tools: string;
}

/** An id of nine letters and digits, the only form that some Mistral templates accept. */
function shortId(id: string): string {
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : hash("sha256", id).slice(0, 9);
}

/** A message as llama.cpp's common library and chat templates expect it. */
function toTemplateMessage(message: Message, { shortIds, files }: RenderOptions): Record<string, unknown> {
  const toId = (id: string): string => (shortIds ? shortId(id) : id);
  const calls = message.toolCalls?.map((call) => ({
    id: toId(call.id),
    type: "function",
    // Code of templates recurses over JSON. What is too deep for it is text, as what is no JSON.
    function: {
      name: call.name,
      arguments: isShapely(call.arguments) ? call.arguments : JSON.stringify(call.arguments),
    },
  }));
  return {
    role: message.role,
    content: message.content
      .map((part) => (part.type === "text" ? part.text : (files?.place(part) ?? "")))
      .join(""),
    ...defined({ reasoning_content: message.reasoning }),
    ...(calls === undefined || calls.length === 0 ? {} : { tool_calls: calls }),
    ...(message.toolCallId === undefined ? {} : { tool_call_id: toId(message.toolCallId) }),
    ...defined({ name: message.name }),
  };
}

/**
 * A prompt in the generic format that must be answered with calls asks for one: a model that was not trained for it goes on with a call of
 * every function.
 */
export function withOneCall(prompt: NativePrompt): NativePrompt {
  return prompt.type === "chat" && mustCall(prompt) ? { ...prompt, singleCall: true } : prompt;
}

/** The tools that may be called. A choice among them hides the others. */
export function offeredTools({ tools, toolChoice }: ChatPrompt): readonly ToolSpec[] {
  if (toolChoice.type === "none") return [];
  const named = toolChoice.type === "named" ? toolChoice.names : undefined;
  return named === undefined ? tools : tools.filter(({ name }) => named.includes(name));
}

const texts = new WeakMap<readonly ToolSpec[], string>();

/**
 * The JSON of a list of tools, in keys of what is kept by content. It takes 2 ms of 1,000 tools, and each request has several keys.
 * Templates and grammars take a left-out tool alike whether it was found or not.
 */
export function toolsText(tools: readonly ToolSpec[]): string {
  const left = (tool: ToolSpec): ToolSpec => (tool.deferred === "found" ? { ...tool, deferred: true } : tool);
  const text = texts.get(tools) ?? JSON.stringify(tools.map(left));
  texts.set(tools, text);
  return text;
}

function wireTool({ name, description }: ToolSpec, parameters: object): Record<string, unknown> {
  return { type: "function", function: { name, description: description ?? "", parameters } };
}

/**
 * Fields of the request about tools. llama.cpp rejects schemas that it cannot turn into a grammar, although svc uses none of its
 * grammars. So its parsers get only what they need, and the template gets the original schemas.
 */
function toolFields(prompt: ChatPrompt, { generic, typed: isTyped, toolTexts }: RenderOptions): object {
  const offered = offeredTools(prompt);
  if (offered.length === 0) return {};
  const options = {
    tool_choice: mustCall(prompt) ? "required" : "auto",
    parallel_tool_calls: !isSingleCall(prompt),
  };
  const known = (isKnown: (tool: ToolSpec) => boolean = () => true): object[] =>
    offered.filter(isKnown).map((tool) => wireTool(tool, parserSchema(new Schema(tool.parameters), true)));
  // The generic format lists in the prompt what can be called, so tools must have been found before.
  if (generic) return { generic_tools: known(({ deferred }) => deferred !== true), ...options };
  const shown = (): object[] =>
    offered
      .filter(({ deferred }) => deferred === undefined)
      .map((tool) => wireTool(tool, isTyped ? typed(tool.parameters) : tool.parameters));
  const both = toolTexts.get(`${isTyped}${toolsText(offered)}`, () => ({
    tools: JSON.stringify(known()),
    template_tools: JSON.stringify(shown()),
  }));
  return { ...both, ...options };
}

/** The JSON that svc_render_begin and svc_render_media_begin take. */
export function renderRequest(prompt: NativePrompt, options: RenderOptions): string {
  if (prompt.type === "pair") return JSON.stringify(pairRequest(prompt));
  if (prompt.type === "literal") return JSON.stringify({ prompt: prompt.text, literal: true });
  if (prompt.type === "gap") return JSON.stringify(gapRequest(prompt, options.contextTokens));
  if (prompt.type === "text") {
    return JSON.stringify({
      prompt: prompt.text,
      ...defined({ suffix: prompt.suffix }),
    });
  }
  const { enabled, unsaid } = prompt.thinking;
  const templateDecides = unsaid === true && options.thinkingDefault === "template";
  const effort = options.efforts.wordOf(prompt.thinking);
  const tools = toolFields(prompt, options);
  const messages = messagesOf(prompt, options);
  return JSON.stringify({
    messages: messages.map((message) => toTemplateMessage(message, options)),
    ...(templateDecides ? {} : { enable_thinking: enabled }),
    kwargs: { ...prompt.templateValues, ...effortFields(effort), ...budgetField(prompt.thinking) },
    ...tools,
    ...options.files?.described(),
  });
}

function messagesOf(prompt: ChatPrompt, { generic, example }: RenderOptions): readonly Message[] {
  if (generic) return genericMessages(prompt.messages, offeredTools(prompt));
  const shown = offeredTools(prompt).filter(({ deferred }) => deferred === undefined);
  return example === undefined || shown.length === 0
    ? prompt.messages
    : withTools(prompt.messages, shown, example);
}

/** For templates that tell the model its budget, and know no other switch (Seed-OSS). */
function budgetField({ enabled, budget }: Thinking): { readonly thinking_budget?: number } {
  return enabled ? defined({ thinking_budget: budget }) : { thinking_budget: 0 };
}

function pairRequest({ query, document, documentTokens, roomTokens }: PairPrompt): object {
  return {
    prompt: query,
    document,
    ...defined({ document_room: documentTokens, room: roomTokens }),
  };
}

function gapRequest({ before, after, files, answerTokens }: GapPrompt, contextTokens: number): object {
  const room = contextTokens - Math.min(Math.max(1, answerTokens), Math.floor(contextTokens / 2));
  return { prompt: before, suffix: after, ...(files.length === 0 ? {} : { files }), room };
}
