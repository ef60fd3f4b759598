// Converts chat and generate bodies to conversations and runs. Pure: knows neither HTTP nor the engine.
// `num_ctx` loads no model again: other clients use it, too.

import { argumentsText } from "../shared/call-arguments.ts";
import { progressOf } from "../shared/progress.ts";
import type { AgentRequest, Conversation, InputMessage, InputPart } from "../../core/agent.ts";
import { type Compat, STRICT } from "../../core/compat.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import type { ToolCall } from "../../core/message.ts";
import type { Preset } from "../../core/preset.ts";
import type { RunRequest } from "../../core/run.ts";
import { bySamplingName, llamaNameOf } from "../../core/sampling.ts";
import { isPresent, describeValue } from "../shared/check.ts";
import { compactAtOf } from "../shared/compaction.ts";
import { type RunConstraint, schemaConstraint } from "../shared/constraint.ts";
import { mediaFile } from "../../core/media-file.ts";
import { logprobsOf } from "../shared/logprobs.ts";
import { namedMedia } from "../shared/media.ts";
import { capTokens, samenessOf, samplingOf, stopOf } from "../shared/sampling.ts";
import { agreedThinking, sayingsOf, templateValuesOf } from "../shared/thinking-fields.ts";
import { sentTools, toolUseOf, withToolTypes } from "../shared/tools.ts";
import { type KeepAlive, keepAliveOf } from "../shared/keep-alive.ts";
import { bodyChecker } from "../shared/unknown-fields.ts";
import {
  OllamaChatRequest,
  OllamaGenerateRequest,
  type OllamaMessage,
  type OllamaOptions,
} from "./schema.ts";

/** The work of a request. */
export type OllamaWork =
  | { readonly type: "converse"; readonly conversation: Conversation }
  /** Continues a raw prompt, without chat template. */
  | { readonly type: "continue"; readonly run: RunRequest }
  /** Loads or unloads the model without generating. */
  | { readonly type: "load" };

export interface OllamaCall {
  /** Model name as sent. */
  readonly model: string;
  readonly work: OllamaWork;
  readonly stream: boolean;
  readonly keepAlive: KeepAlive;
}

/** Ollama's defaults. */
const DEFAULTS: Preset = { temperature: 0.8, top_k: 40, top_p: 0.9 };

const checkChat = bodyChecker(OllamaChatRequest);
const checkGenerate = bodyChecker(OllamaGenerateRequest);

/** Parses the body of /api/chat; throws a ServiceError naming the field at fault and the accepted values. */
export function parseOllamaChat(
  json: Readonly<Record<string, unknown>>,
  compat: Compat = STRICT,
): OllamaCall {
  const body = checkChat({ ...json, tools: withToolTypes(json["tools"]) }, compat);
  const messages = messagesOf(body.messages ?? []);
  const run = generationOf(body); // also for a load request, to report its errors
  const { tools, choice } = toolUseOf(sentTools(body.tools), undefined);
  const prompt = {
    type: "chat",
    messages,
    tools,
    toolChoice: choice,
    ...templateValuesOf(body, compat),
    thinking: agreedThinking(sayingsOf(body, compat)),
  } as const;
  const conversation = { run: { ...run, prompt }, agent: { ...NO_AGENT, ...compactAtOf(body) } };
  return callOf(body, messages.length === 0 ? { type: "load" } : { type: "converse", conversation });
}

/** Parses the body of /api/generate; throws likewise. */
export function parseOllamaGenerate(
  json: Readonly<Record<string, unknown>>,
  compat: Compat = STRICT,
): OllamaCall {
  const body = checkGenerate(json, compat);
  refuseUnsupported(body);
  const run = generationOf(body);
  const text = body.prompt ?? "";
  const after = body.suffix ?? "";
  if (text === "" && after === "") return callOf(body, { type: "load" });
  if (after !== "" || body.raw === true) {
    refuseImages(body);
    const prompt = { type: "text", text, ...(after === "" ? {} : { suffix: after }) } as const;
    return callOf(body, { type: "continue", run: { ...run, prompt } });
  }
  const system: readonly InputMessage[] = isPresent(body.system)
    ? [{ role: "system", content: [{ type: "text", text: body.system }] }]
    : [];
  const user: InputMessage = { role: "user", content: contentOf(text, body.images, "images") };
  const prompt = {
    type: "chat",
    messages: [...system, user],
    tools: [],
    toolChoice: { type: "auto" },
    ...templateValuesOf(body, compat),
    thinking: agreedThinking(sayingsOf(body, compat)),
  } as const;
  return callOf(body, { type: "converse", conversation: { run: { ...run, prompt }, agent: NO_AGENT } });
}

type Body = Pick<OllamaGenerateRequest, "model" | "stream" | "keep_alive">;

function callOf({ model, stream, keep_alive: field }: Body, work: OllamaWork): OllamaCall {
  return { model: model ?? "default", work, stream: stream ?? true, keepAlive: keepAliveOf(field) };
}

/** The agent request of this dialect, which has no fields for tools of the server. */
const NO_AGENT: AgentRequest = { python: false, files: [], interactive: false };

type Generation = Pick<
  OllamaGenerateRequest,
  | "model"
  | "options"
  | "format"
  | "logprobs"
  | "top_logprobs"
  | "determinism"
  | "fingerprint"
  | "stream"
  | "return_progress"
>;

function generationOf(body: Generation): Omit<RunRequest, "prompt"> {
  const options: OllamaOptions = body.options ?? {};
  const cap = options.num_predict ?? 0;
  const logprobs = logprobsOf(body);
  return {
    model: body.model ?? "default",
    sampling: samplingOf({
      ...bySamplingName((name) => options[llamaNameOf(name)] ?? DEFAULTS[name] ?? null),
      ...(options.repeat_penalty === 0 ? { repetition_penalty: null } : {}), // off, as 1
      seed: isPresent(options.seed) && options.seed >= 0 ? options.seed : null,
    }),
    stop: stopOf(options.stop),
    ...defined({ maxTokens: cap > 0 ? capTokens(cap) : undefined }),
    choices: 1,
    ...samenessOf(body),
    ...progressOf(body, body.stream ?? true),
    ...defined({ logprobs }),
    ...formatOf(body.format),
    truncate: true, // as Ollama does
  };
}

function formatOf(format: OllamaGenerateRequest["format"]): RunConstraint {
  if (!isPresent(format) || format === "") return {};
  if (typeof format === "object") return schemaConstraint(format, "format");
  if (format === "json") return schemaConstraint({ type: "object" }, "format");
  const message = `format must be "json" or a JSON Schema; got ${describeValue(format)}`;
  throw new ServiceError("unsupported_value", message, { param: "format" });
}

function refuseUnsupported({ template, context }: OllamaGenerateRequest): void {
  const instead = {
    template: [isPresent(template) && template !== "", "send raw: true with a formatted prompt"],
    context: [Array.isArray(context) && context.length > 0, "send the conversation to /api/chat"],
  } as const;
  for (const [field, [isSent, fix]] of Object.entries(instead)) {
    if (!isSent) continue;
    throw new ServiceError("unsupported_value", `${field} is not supported; ${fix}`, { param: field });
  }
}

/** A text without messages has no place for them. */
function refuseImages({ images }: OllamaGenerateRequest): void {
  if ((images ?? []).length === 0) return;
  const message =
    "images cannot be read with raw or suffix, whose prompt has no place for them; send neither, or no images";
  throw new ServiceError("contradictory_fields", message, { param: "images" });
}

function contentOf(
  text: string | null | undefined,
  images: readonly string[] | null | undefined,
  path: string,
): readonly InputPart[] {
  const parts: InputPart[] = (images ?? []).map((data, index) =>
    namedMedia(modalityOf(data), { type: "inline", data }, `${path}[${index}]`),
  );
  if (isPresent(text) && text !== "") parts.push({ type: "text", text });
  return parts;
}

/** Of a file in base64: this dialect has one field for all. What is no sound counts as an image, as errors about it say. */
function modalityOf(data: string): "image" | "audio" {
  const start = decodedStart(data);
  const modality = start === undefined ? undefined : mediaFile(start)?.modality;
  return modality === "audio" ? "audio" : "image";
}

/** Characters of base64 that hold the signature of a file. */
const START_CHARS = 512;

function decodedStart(data: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const start = data.slice(0, START_CHARS);
    return Uint8Array.fromBase64(start, {
      alphabet: /[-_]/.test(start) ? "base64url" : "base64",
      lastChunkHandling: "loose",
    });
  } catch {
    return undefined;
  }
}

/** A call without a result so far. */
interface OpenCall {
  readonly id: string;
  readonly name: string;
}

/** Converts messages. A result is matched to its call by id, else by tool name, else by order. */
function messagesOf(messages: readonly OllamaMessage[]): readonly InputMessage[] {
  let open: OpenCall[] = [];
  return messages.map((message, index) => {
    const base = {
      role: message.role,
      content: contentOf(message.content, message.images, `messages[${index}].images`),
    };
    if (message.role === "tool") {
      const answered = open.find((call) => answers(message, call)) ?? open[0];
      open = open.filter((call) => call !== answered);
      const id = message.tool_call_id ?? answered?.id;
      const name = message.tool_name ?? answered?.name;
      return { ...base, ...(isPresent(id) ? { toolCallId: id } : {}), ...(isPresent(name) ? { name } : {}) };
    }
    if (message.role !== "assistant") return base;
    const toolCalls = callsOf(message, index);
    open = [...toolCalls];
    return {
      ...base,
      ...(isPresent(message.thinking) ? { reasoning: message.thinking } : {}),
      ...(toolCalls.length > 0 ? { toolCalls } : {}),
    };
  });
}

function answers({ tool_call_id: id, tool_name: name }: OllamaMessage, call: OpenCall): boolean {
  return isPresent(id) ? call.id === id : call.name === name;
}

function callsOf({ tool_calls: calls }: OllamaMessage, messageIndex: number): readonly ToolCall[] {
  return (calls ?? []).map((call, index) => ({
    id: call.id ?? `call_${messageIndex}_${index}`,
    name: call.function.name,
    arguments: argumentsText(call.function.arguments),
  }));
}
