// Chat backend over HTTP: conversations of the terminal chat answered by a svc server that already runs. Its models, adapters,
// tools and sessions are used; nothing is loaded here.

import { isAbsolute } from "node:path";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { modelName } from "../config/model-name.ts";
import type { Settings } from "../config/settings.ts";
import type {
  AnswerApproval,
  AnswerEvent,
  Converse,
  CutMedium,
  FileObject,
  ToolProgress,
} from "../core/agent.ts";
import { editsIn } from "../core/edit-body.ts";
import { defined } from "../core/defined.ts";
import type { ChatModel, ModelInfo } from "../core/model-info.ts";
import type { Usage } from "../core/run.ts";
import { bySamplingName } from "../core/sampling.ts";
import type { ChatQuestion } from "./chat/conversation.ts";
import { samplingToWire, toWire } from "./chat/saved-chat.ts";
import { AnswerError, ServerClient, type ServedModel } from "./server-client.ts";

/** A running server as a chat uses it. */
export interface ServerChat {
  readonly url: string;
  /** Name of the model to begin with. */
  readonly model: string;
  readonly cards: readonly ChatModel[];
  readonly converse: Converse<ChatQuestion>;
  readonly answerApproval: AnswerApproval;
  readonly tools: { readonly python: true; readonly shell: { readonly skills: readonly [] } };
}

/** The server at the configured address, if it runs and serves the model that is asked for; else undefined. */
export async function findServer(settings: Settings, isModelNamed: boolean): Promise<ServerChat | undefined> {
  const client = new ServerClient(settings.server);
  const served = (await client.probe())?.filter(({ kind }) => kind === "text");
  const [wanted] = settings.models;
  const first = served?.[0];
  if (served === undefined || first === undefined || wanted === undefined) return undefined;
  const { assistant } = settings;
  const names = new Set(assistant === undefined ? [modelName(wanted), wanted.model_id] : [assistant]);
  const isNamed = assistant !== undefined || isModelNamed;
  const isMeant = ({ id, root = "" }: ServedModel): boolean =>
    names.has(id) || (assistant === undefined && names.has(root));
  const listed = isNamed ? served.find(isMeant) : first;
  const model = listed ?? (await aliasCard(client, assistant ?? wanted.model_id));
  if (model === undefined) return undefined;
  const adapter = served.find(({ parent, root }) => parent === model.id && root === settings.adapter);
  return {
    url: client.url,
    model: (settings.adapter === undefined ? undefined : adapter?.id) ?? model.id,
    cards: (listed === undefined ? [...served, model] : served).map(chatModel),
    converse: conversing(client),
    answerApproval: (id, decision) => {
      const body = decision.approved
        ? { decision: "approve", remember_for_session: decision.remember }
        : { decision: "deny", ...defined({ message: decision.message }) };
      // A decision that is lost times out on the server as a denial, and the stream says so.
      client.json(`/v1/agent/approvals/${encodeURIComponent(id)}`, body).catch(() => undefined);
      return "resolved";
    },
    tools: { python: true, shell: { skills: [] } },
  };
}

/** The card of an alias that the server does not list, under its name: one without defaults or an adapter. */
async function aliasCard(client: ServerClient, name: string): Promise<ServedModel | undefined> {
  if (isAbsolute(name)) return undefined; // a file of this machine
  const card = await client.json(`/v1/models/${encodeURIComponent(name)}`).catch(() => undefined);
  if (typeof card !== "object" || card === null) return undefined;
  const served = card as ServedModel;
  return served.kind === "text" ? { ...served, id: name } : undefined;
}

/** The server fills in the rest of the defaults: instructions, stops, caps. */
function chatModel({
  id,
  context_length: contextTokens,
  modalities,
  capabilities,
  defaults = {},
  defaults_from: presetFrom,
  chat_template: template,
}: ServedModel): ChatModel {
  return {
    id,
    preset: defined({ ...bySamplingName((name) => defaults[name]), thinking: defaults.thinking }),
    ...defined({
      contextTokens,
      presetFrom,
      isBase: template === undefined ? undefined : template === "none",
      modalities: modalities as ModelInfo["modalities"],
      thinks: capabilities?.["reasoning"],
    }),
  };
}

/** Fields that ask for a tool of the server, and the flag that switches it on there. */
const TOOL_SETTINGS = {
  tools: "--enable-code-execution",
  enable_shell: "--enable-shell",
  web_search_options: "--enable-search",
} as const;
type ToolField = keyof typeof TOOL_SETTINGS;

function conversing(client: ServerClient): Converse<ChatQuestion> {
  const missing = new Set<ToolField>();
  return async function* (conversation, signal) {
    for (;;) {
      const body = bodyOf(conversation, missing);
      let response: Response;
      try {
        response = await client.send("/v1/chat/completions", body, signal);
      } catch (error) {
        if (!dropsTool(error, missing)) throw error;
        continue;
      }
      if (response.body !== null) yield* events(response.body);
      return;
    }
  };
}

/** Whether a refusal names a tool that the server has switched off; the next try leaves it out. */
function dropsTool(error: unknown, missing: Set<ToolField>): boolean {
  if (!(error instanceof AnswerError) || error.code !== "capability_disabled") return false;
  for (const field of ["tools", "enable_shell", "web_search_options"] as const) {
    if (missing.has(field) || !error.message.includes(TOOL_SETTINGS[field])) continue;
    missing.add(field);
    return true;
  }
  return false;
}

function bodyOf({ run, agent, chosen }: ChatQuestion, missing: ReadonlySet<ToolField>): unknown {
  const { prompt } = run;
  const { sampling = {}, thinking } = chosen;
  const asks = (field: ToolField, isAsked: boolean): boolean => isAsked && !missing.has(field);
  return {
    model: run.model,
    messages: prompt.messages.map(({ role, content }) => ({ role, content: toWire(content) })),
    stream: true,
    return_progress: true,
    ...samplingToWire(sampling),
    ...defined({
      max_tokens: run.maxTokens,
      enable_thinking: thinking?.enabled,
      reasoning_effort: thinking?.effort,
    }),
    truncate_sequence: run.truncate,
    ...defined({ session_id: agent.sessionId }),
    ...(asks("tools", agent.python) ? { tools: [{ type: "code_interpreter" }] } : {}),
    ...(asks("enable_shell", agent.shell !== undefined) ? { enable_shell: true } : {}),
    ...(asks("web_search_options", agent.webSearch !== undefined) ? { web_search_options: {} } : {}),
  };
}

/** A chunk of the stream, as far as a chat reads it. */
interface Chunk {
  readonly error?: { readonly message: string };
  readonly session_id?: string;
  readonly cut_files?: readonly CutFileBody[];
  readonly context_management?: unknown;
  readonly load_progress?: { readonly progress: number };
  readonly prompt_progress?: {
    readonly total: number;
    readonly cache: number;
    readonly processed: number;
    readonly time_ms: number;
    readonly queued_before?: number;
  };
  readonly choices?: readonly {
    readonly delta: { readonly content?: string; readonly reasoning_content?: string };
  }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
    readonly completion_tokens_details: { readonly reasoning_tokens: number };
    readonly total_prompt_time_sec: number;
    readonly total_completion_time_sec: number;
  };
}

type CutFileBody =
  | { readonly name: string; readonly shown_characters: number; readonly bytes: number }
  | CutMedium;

/** The events of an answer. A stream that breaks off ends with a failure. */
async function* events(bytes: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<AnswerEvent> {
  const parsed = bytes.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  let hasCut = false; // each chunk names the cut files
  let edits = 0; // each list has those before
  for await (const { event, data } of parsed as unknown as AsyncIterable<{ event?: string; data: string }>) {
    if (data === "[DONE]") return;
    const body: unknown = JSON.parse(data);
    const { cut_files: cut, context_management: management } = body as Chunk;
    const edited = editsIn(management, []).slice(edits);
    edits += edited.length;
    if (edited.length > 0) yield { type: "context_edited", edits: edited };
    if (cut !== undefined && !hasCut) {
      hasCut = true;
      yield {
        type: "input_cut",
        files: cut.map((file) =>
          "unit" in file ? file : { name: file.name, shown: file.shown_characters, bytes: file.bytes },
        ),
      };
    }
    if (event === undefined || event === "message") yield* chunkEvents(body as Chunk);
    else yield* agentEvents(event, body);
  }
  throw new Error("The connection to the server was lost before the answer was complete.");
}

function* chunkEvents(chunk: Chunk): Generator<AnswerEvent> {
  const { error, session_id: session, choices = [], usage } = chunk;
  if (error !== undefined) throw new Error(error.message);
  if (session !== undefined) yield { type: "session", sessionId: session };
  yield* progressEvents(chunk);
  for (const { delta } of choices) {
    if (delta.reasoning_content) yield { type: "reasoning", choice: 0, text: delta.reasoning_content };
    if (delta.content) yield { type: "text", choice: 0, text: delta.content };
  }
  if (usage === undefined) return;
  const counts: Usage = {
    promptTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details.cached_tokens,
    completionTokens: usage.completion_tokens,
    reasoningTokens: usage.completion_tokens_details.reasoning_tokens,
  };
  const { total_prompt_time_sec: promptSecs, total_completion_time_sec: completionSecs } = usage;
  yield { type: "finish", usage: counts, timings: { promptSecs, completionSecs } };
}

function* progressEvents({ load_progress: load, prompt_progress: prompt }: Chunk): Generator<AnswerEvent> {
  if (load !== undefined) yield { type: "load_progress", permille: Math.round(load.progress * 1000) };
  if (prompt === undefined) return;
  const { total, cache: cached, processed, time_ms: ms, queued_before: ahead } = prompt;
  yield { type: "prompt_progress", total, cached, processed, ms, ...defined({ ahead }) };
}

function* agentEvents(name: string, body: unknown): Generator<AnswerEvent> {
  if (name === "file_produced") yield { type: "file_produced", file: body as FileObject };
  if (name === "agentic_tool_approval_required") {
    const {
      approval_id: approvalId,
      session_id: sessionId,
      round,
      tool,
      arguments: args,
    } = body as ApprovalBody;
    yield { type: "approval_required", approvalId, sessionId, round, tool, arguments: args };
  }
  if (name !== "agentic_tool_call_progress") return;
  const { round, tool_name: toolName, phase, data } = body as ProgressBody;
  const at = { round, toolName, callId: "", arguments: "", data };
  if (phase === "calling") yield { type: "tool_calling", ...at };
  else if (phase === "complete")
    yield { type: "tool_complete", ...at, resultContent: "", images: [], fileIds: [] };
}

interface ApprovalBody {
  readonly approval_id: string;
  readonly session_id: string;
  readonly round: number;
  readonly tool: Extract<AnswerEvent, { type: "approval_required" }>["tool"];
  readonly arguments: unknown;
}

interface ProgressBody {
  readonly round: number;
  readonly tool_name: string;
  readonly phase: "calling" | "running" | "complete";
  readonly data: ToolProgress;
}
