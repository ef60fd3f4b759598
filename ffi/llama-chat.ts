// Prompts: from the canonical conversation to token ids, and the parser for what comes back.

import { ServiceError } from "../src/core/error.ts";
import { modalitiesOf } from "../src/core/message.ts";
import type { Prompt } from "../src/core/run.ts";
import type {
  OutputFormat,
  ParsedMessage,
  PendingPrompt,
  RenderedPrompt,
  SamplerHandle,
} from "../src/worker/backend.ts";
import type { MediaChunk } from "../src/worker/media-backend.ts";
import type { Native } from "./library.ts";
import type { LlamaMedia } from "./llama-media.ts";
import { MediaFiles } from "./media-files.ts";
import { mustCall, renderRequest } from "./render-request.ts";
import { cText, type Handle, nativeText, takeText } from "./text.ts";
import { toolRefusal } from "./tool-refusal.ts";

type ChatPrompt = Extract<Prompt, { type: "chat" }>;
type NativePrompt = Exclude<Prompt, { type: "tokens" }>;

/** A prompt under way, with the files that were sent along. */
interface Rendering {
  readonly handle: Handle;
  readonly files: MediaFiles | undefined;
  readonly long: boolean;
}

/** A request longer than this takes a tenth of a second and more to render and tokenize. */
const LONG_REQUEST_BYTES = 128 * 1024;

const PLAIN_FORMAT: OutputFormat = {
  thinkingStart: "",
  thinkingStartTokens: new Int32Array(),
  thinkingEnds: [],
  startsInReasoning: false,
  toolMarkers: [],
  toolMarkerTokens: new Int32Array(),
  toolGrammar: "none",
  callMarker: new Int32Array(),
  stops: [],
  visibleTokens: new Set(),
  markup: [],
};

/** svc_render_info */
interface RenderInfo {
  readonly thinking_start: string;
  readonly thinking_ends: readonly string[];
  readonly generation_prompt: string;
  readonly additional_stops: readonly string[];
  readonly preserved_tokens: readonly string[];
  readonly call_marker: string;
  readonly grammar: string;
  readonly grammar_lazy: boolean;
  readonly grammar_triggers: readonly {
    readonly type: number;
    readonly value: string;
    readonly token: number;
  }[];
}

/** common.h: COMMON_GRAMMAR_TRIGGER_TYPE_WORD, a trigger that is a literal string. */
const TRIGGER_WORD = 1;

/** Kinds of prompts of one template for which it is remembered what tags interrupt text; more are worked out again. */
const MUTE_KEYS_MAX = 64;

/** What Mistral's templates say of ids of tool calls that they do not like. */
const SHORT_IDS = /\bIDs?\b.*\blength 9\b/;

function toolCall(call: {
  id?: string;
  function: { name: string; arguments: string };
}): ParsedMessage["toolCalls"][number] {
  return { id: call.id ?? "", name: call.function.name, arguments: call.function.arguments };
}

/** Whether what the template wrote of the answer ends inside a reasoning block. */
function opensReasoning({
  thinking_start: start,
  thinking_ends: ends,
  generation_prompt: text,
}: RenderInfo): boolean {
  const opened = start === "" ? -1 : text.lastIndexOf(start);
  return opened >= 0 && ends.every((end) => text.lastIndexOf(end) < opened);
}

/** What to begin a call with. Not a marker that names a function, which would choose among them (Qwen3-Coder's do). */
function callMarker(
  { call_marker: marker, preserved_tokens: tags }: RenderInfo,
  { tools }: ChatPrompt,
): string {
  return tools.some(({ name }) => marker === `<function=${name}>`) ? (tags[0] ?? "") : marker;
}

/** See RenderedPrompt.parse. */
function parseAnswer(native: Native, handle: Handle, text: string): ParsedMessage | undefined {
  const bytes = cText(text);
  // Not `partial`: it differs only in that what has left the format gives some message or other instead of none.
  const result = native.svc_render_parse(handle, bytes, bytes.length - 1, 0);
  if (result === null) return undefined;
  const message = JSON.parse(takeText(native, result));
  return {
    content: typeof message.content === "string" ? message.content : "",
    reasoning: message.reasoning_content ?? "",
    toolCalls: (message.tool_calls ?? []).map(toolCall),
  };
}

function hasMedia(prompt: Prompt): boolean {
  return prompt.type === "chat" && modalitiesOf(prompt.messages).length > 0;
}

function refusal(prompt: Prompt, reason: string): ServiceError {
  if (prompt.type !== "chat") {
    const message = `The model cannot take this prompt: ${reason}`;
    return new ServiceError("unsupported_capability", message, { param: "suffix" });
  }
  const file = /^(picture|recording) (\d+): ([^]*)/.exec(reason);
  if (file !== null) {
    const [, kind, number, what] = file;
    const message = `The ${kind} number ${number} of the messages cannot be used: ${what}.`;
    return new ServiceError("invalid_request", message, { param: "messages" });
  }
  const aboutTools = toolRefusal(prompt.tools, reason);
  if (aboutTools !== undefined) return aboutTools;
  // What the template itself says, without the piece of its source around it.
  const said = /Jinja Exception: ([^]*)/.exec(reason)?.[1] ?? reason;
  const message = `The model's chat template rejects this conversation: ${said.trim()}`;
  return new ServiceError("invalid_request", message, { param: "messages" });
}

/** What a prompt is, but for what is native. */
type PromptFacts = Pick<RenderedPrompt, "tokens" | "media" | "format" | "plain">;

/** A prompt in native hands. */
export class LlamaPrompt implements RenderedPrompt {
  readonly tokens: Int32Array;
  readonly media: readonly MediaChunk[];
  readonly format: OutputFormat;
  readonly plain: boolean;
  /** For native calls of this folder only. */
  readonly handle: Handle;
  private readonly native: Native;
  private freed = false;

  constructor(native: Native, handle: Handle, { tokens, media, format, plain }: PromptFacts) {
    this.native = native;
    this.handle = handle;
    this.tokens = tokens;
    this.media = media;
    this.format = format;
    this.plain = plain;
  }

  parse(text: string): ParsedMessage | undefined {
    return parseAnswer(this.native, this.handle, text);
  }

  free(): void {
    if (this.freed) return;
    this.freed = true;
    this.native.svc_render_free(this.handle);
  }
}

export interface TemplateOptions {
  /** Token ids of the model. */
  readonly vocabulary: number;
  /** Jinja text that replaces the model's own template. */
  readonly source: string | undefined;
  /** Reads pictures and recordings, where the model takes any. */
  readonly media: LlamaMedia | undefined;
}

/** The model's chat template and tokenizer. */
export class LlamaTemplates {
  private readonly native: Native;
  private readonly model: Handle;
  private readonly chat: Handle;
  private readonly vocabulary: number;
  private readonly media: LlamaMedia | undefined;
  private readonly mute = new Map<string, ReadonlySet<string>>(); // tags that interrupt nothing, by what decides that
  private shortIds = false; // the template takes only ids of nine letters and digits

  /** Throws ServiceError(model_unavailable) when it does not parse. */
  constructor(native: Native, model: Handle, { vocabulary, source, media }: TemplateOptions) {
    const chat = native.svc_chat_open(model, source === undefined ? null : cText(source));
    if (chat === null) {
      const reason = nativeText(native.svc_last_error());
      throw new ServiceError("model_unavailable", `the chat template does not parse: ${reason}`);
    }
    this.native = native;
    this.model = model;
    this.chat = chat;
    this.vocabulary = vocabulary;
    this.media = media;
  }

  /** Begins to render and tokenize. Throws ServiceError(invalid_request) for tokens that the model does not have. */
  render(prompt: Prompt): PendingPrompt {
    if (prompt.type === "tokens") {
      const alien = prompt.tokens.find((token) => token < 0 || token >= this.vocabulary);
      if (alien !== undefined) {
        const message = `Token ${alien} is not in the model's vocabulary of ${this.vocabulary} tokens.`;
        throw new ServiceError("invalid_request", message, { param: "prompt" });
      }
      const tokens = Int32Array.from(prompt.tokens);
      const ready: RenderedPrompt = {
        tokens,
        media: [],
        format: PLAIN_FORMAT,
        plain: true,
        parse: () => undefined,
        free: () => {},
      };
      return { long: false, take: () => ready, free: () => {} };
    }
    const rendering = this.begin(prompt, this.shortIds);
    let { handle } = rendering;
    let retried = this.shortIds;
    const take = (waitMs: number): RenderedPrompt | undefined => {
      const state = this.native.svc_render_wait(handle, waitMs);
      if (state === 0) return undefined;
      if (state > 0) return this.ready(handle, prompt, rendering.files);
      const reason = nativeText(this.native.svc_last_error());
      this.native.svc_render_free(handle);
      if (retried || !SHORT_IDS.test(reason)) throw refusal(prompt, reason);
      this.shortIds = retried = true;
      ({ handle } = this.begin(prompt, true));
      return undefined;
    };
    return { long: rendering.long, take, free: () => this.native.svc_render_free(handle) };
  }

  private begin(prompt: NativePrompt, shortIds: boolean): Rendering {
    const files = hasMedia(prompt) ? new MediaFiles() : undefined;
    const request = cText(renderRequest(prompt, { shortIds, files }));
    const long = request.length > LONG_REQUEST_BYTES;
    const handle =
      files === undefined
        ? this.native.svc_render_begin(this.chat, request, long ? 1 : 0)
        : this.beginMedia(request, files);
    if (handle === null) throw new Error(nativeText(this.native.svc_last_error()));
    return { handle, files, long };
  }

  private beginMedia(request: Uint8Array, files: MediaFiles): Handle | null {
    if (this.media === undefined) {
      const message = "This model takes text alone: it has no projector file (mmproj).";
      throw new ServiceError("unsupported_capability", message, { param: "messages" });
    }
    const { data, size } = files.columns();
    return this.native.svc_render_media_begin(this.chat, this.media.handle, request, data.length, data, size);
  }

  private ready(handle: Handle, prompt: Prompt, files: MediaFiles | undefined): RenderedPrompt {
    const tokens = this.promptTokens(handle);
    if (prompt.type !== "chat")
      return new LlamaPrompt(this.native, handle, { tokens, media: [], format: PLAIN_FORMAT, plain: true });
    const media = files === undefined ? [] : (this.media?.chunks(handle, files, tokens) ?? []);
    const format = this.format(handle, prompt);
    if (mustCall(prompt) && format.toolGrammar === "none") {
      this.native.svc_render_free(handle);
      const message =
        "A tool call cannot be required of this model: its chat template has no format for them.";
      throw new ServiceError("unsupported_capability", message, { param: "tool_choice" });
    }
    return new LlamaPrompt(this.native, handle, { tokens, media, format, plain: false });
  }

  private promptTokens(handle: Handle): Int32Array {
    const needed = -this.native.svc_render_tokens(handle, new Int32Array(1), 0);
    const tokens = new Int32Array(Math.max(0, needed));
    if (needed > 0) this.native.svc_render_tokens(handle, tokens, needed);
    return tokens;
  }

  private format(handle: Handle, prompt: ChatPrompt): OutputFormat {
    const info: RenderInfo = JSON.parse(takeText(this.native, this.native.svc_render_info(handle)));
    const startsInReasoning = opensReasoning(info);
    const toolMarkers = info.grammar_triggers
      .filter(({ type }) => type === TRIGGER_WORD)
      .map(({ value }) => value);
    if (info.grammar === "" && !startsInReasoning && this.bareCalls(handle, prompt)) toolMarkers.push("{");
    const mute = this.muteTags(handle, prompt, info, startsInReasoning);
    const loud = info.preserved_tokens.filter((tag) => !mute.has(tag));
    const tags = [info.thinking_start, ...info.thinking_ends, ...loud, ...toolMarkers];
    return {
      thinkingStart: info.thinking_start,
      thinkingStartTokens: this.tokenize(info.thinking_start),
      thinkingEnds: info.thinking_ends,
      startsInReasoning,
      toolMarkers,
      toolMarkerTokens: this.tokenize(toolMarkers[0] ?? ""),
      // Triggers that are patterns must see the answer from its beginning.
      toolGrammar:
        info.grammar === "" ? "none" : info.grammar_lazy && toolMarkers.length > 0 ? "marker" : "start",
      callMarker: this.tokenize(callMarker(info, prompt)),
      stops: info.additional_stops,
      visibleTokens: this.visibleTokens(info.preserved_tokens),
      markup: [...new Set(tags.filter((tag) => tag !== ""))],
    };
  }

  /** Whether calls are JSON without any marker: then each brace may be the beginning of one. */
  private bareCalls(handle: Handle, { tools, toolChoice }: ChatPrompt): boolean {
    if (tools.length === 0 || toolChoice.type === "none") return false;
    const brace = parseAnswer(this.native, handle, "{");
    return brace !== undefined && brace.content === "" && brace.reasoning === "";
  }

  /**
   * Of the tags that the parser wants to see, those that change nothing where they stand in plain text, such as closing
   * ones. They may be common in text (`">`, ```` ``` ````), and the parser need not look at the whole answer for them.
   */
  private muteTags(
    handle: Handle,
    prompt: ChatPrompt,
    info: RenderInfo,
    startsInReasoning: boolean,
  ): ReadonlySet<string> {
    const offered = prompt.tools.length > 0 && prompt.toolChoice.type !== "none";
    const { generation_prompt: start, preserved_tokens: tags } = info;
    const key = JSON.stringify([offered, mustCall(prompt), startsInReasoning, start, tags]);
    const known = this.mute.get(key);
    if (known !== undefined) return known;
    const before = startsInReasoning ? (info.thinking_ends[0] ?? "") : "";
    const isText = (text: string): boolean =>
      parseAnswer(this.native, handle, before + text)?.content === text;
    const found = new Set(isText("x") ? tags.filter((tag) => isText(`x${tag}`)) : []);
    if (this.mute.size >= MUTE_KEYS_MAX) this.mute.clear();
    this.mute.set(key, found);
    return found;
  }

  /** Tokens of a piece of markup, control tokens included. */
  private tokenize(text: string): Int32Array {
    const bytes = cText(text);
    const out = new Int32Array(bytes.length);
    const n =
      text === "" ? 0 : this.native.svc_tokenize(this.model, bytes, bytes.length - 1, out, out.length, 0, 1);
    return out.slice(0, Math.max(0, n));
  }

  private visibleTokens(texts: readonly string[]): ReadonlySet<number> {
    const visible = new Set<number>();
    for (const text of texts) {
      const [id, ...more] = this.tokenize(text);
      if (id !== undefined && more.length === 0) visible.add(id);
    }
    return visible;
  }

  /** See Backend.constrainTools. */
  constrainTools(sampler: SamplerHandle, prompt: RenderedPrompt, recent: Int32Array): boolean {
    if (!(prompt instanceof LlamaPrompt)) return false;
    const tokens = recent.length > 0 ? recent : new Int32Array(1);
    return this.native.svc_sampler_tools(sampler, this.model, prompt.handle, recent.length, tokens) === 0;
  }

  /** Frees the template. Every prompt must have been freed before. */
  close(): void {
    this.native.svc_chat_free(this.chat);
  }
}
