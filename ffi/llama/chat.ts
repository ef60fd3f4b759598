// Chat templates: renders conversations to token ids and provides the parser of the answers.
// A native thread renders and tokenizes, one prompt at a time: in the step loop each arrival would delay all running rows by 4 to 12 ms.

import { defined } from "../../src/core/defined.ts";
import { ServiceError } from "../../src/core/error.ts";
import { modalitiesOf } from "../../src/core/message.ts";
import { Recent } from "../../src/core/recent.ts";
import { mustCall, type Prompt } from "../../src/core/run.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import type { OutputFormat, PendingPrompt, RenderedPrompt } from "../../src/worker/text/backend.ts";
import { lacksCalls, opensReasoning, type RenderInfo } from "./answer-plan.ts";
import { effortFields, Efforts } from "./efforts.ts";
import type { Native } from "../library.ts";
import type { LlamaMedia } from "./media.ts";
import { LlamaPrompt, parseAnswer, PLAIN_FORMAT, type PromptFacts, tokenPrompt } from "./prompt.ts";
import { answerOpening } from "./reasoning-form.ts";
import { MediaFiles } from "./media-files.ts";
import { closesReasoning, PlannedAnswers, renderInfo } from "./planned-answers.ts";
import { refusal, templateFault } from "./render-refusal.ts";
import { ShownTools } from "./shown-tools.ts";
import { thinkingBudget, type ThinkingCloses, thinkingCloses, type ThinkingTags } from "./thinking-closes.ts";
import { type ThinkingFacts, thinkingFacts } from "./thinking-facts.ts";
import {
  type NativePrompt,
  offeredTools,
  type RenderOptions,
  renderRequest,
  type ToolTexts,
  withOneCall,
} from "./render-request.ts";
import { cText, type Handle, nativeText, takeText } from "../text.ts";

type ChatPrompt = Extract<Prompt, { type: "chat" }>;

/** Features that a template was found to lack. */
type TemplateLimits = Pick<RenderOptions, "shortIds" | "generic" | "typed" | "example">;

/** A prompt being rendered, with its media files. */
interface Rendering {
  readonly handle: Handle;
  readonly files: MediaFiles | undefined;
  readonly long: boolean;
}

/** A request longer than this takes over 100 ms to render and tokenize, characters. */
const LONG_REQUEST_BYTES = 128 * 1024;

/** Kept plans and tool lists of a template; ffi/shim keeps as many parsers. */
const RECENT_MAX = 8;

/** Longest wait for a template trial, milliseconds. Its steps are bounded; on a very busy machine they take seconds, and what it does not find is taken to be absent. */
const PROBE_WAIT_MS = 20_000;

/** Cache entries for the tags that interrupt text, by kind of prompt of one template. */
const MUTE_KEYS_MAX = 64;

/** Error of Mistral's templates about ids of tool calls. */
const SHORT_IDS = /\bIDs?\b.*\blength 9\b/;

function hasMedia(prompt: NativePrompt): boolean {
  return prompt.type === "chat" && modalitiesOf(prompt.messages).length > 0;
}

function leftOut(native: Native, chat: Handle): readonly string[] {
  return JSON.parse(takeText(native, native.svc_chat_lost(chat))) as readonly string[];
}

export interface TemplateOptions {
  /** Token ids of the model. */
  readonly vocabulary: number;
  /** Longest sequence, tokens. */
  readonly contextTokens: number;
  /** Jinja source that replaces the model's own template. */
  readonly source: string | undefined;
  /** Control tokens that message text may contain. */
  readonly contentTokens?: readonly string[] | undefined;
  /** Whether the model thinks when a request does not say; default: always. */
  readonly thinkingDefault?: TextOptions["thinkingDefault"];
  /** Name of the template in messages: `model.gguf`, or the file of `source`. */
  readonly name?: string | undefined;
  /** Decodes images and audio; undefined for text models. */
  readonly media: LlamaMedia | undefined;
}

/** The model's chat template and tokenizer. */
export class LlamaTemplates {
  private readonly native: Native;
  private readonly model: Handle;
  private readonly chat: Handle;
  private readonly name: string;
  /** Parts of a conversation that the template does not show, whatever form they are given. */
  readonly leavesOut: readonly string[];
  private readonly vocabulary: number;
  private readonly contextTokens: number;
  private readonly media: LlamaMedia | undefined;
  private readonly thinkingDefault: "on" | "template";
  private readonly mute = new Map<string, ReadonlySet<string>>(); // tags that change nothing in plain text, by kind of prompt
  private shortIds = false; // the template accepts only call ids of nine letters and digits
  private generic = false; // the template has no format for calls
  private typed = false; // the template requires a type in every schema
  private readonly answers: PlannedAnswers;
  private readonly efforts = new Efforts((word) => this.effortPrompt(word));
  private readonly shownTools = new ShownTools((request) => this.probedText(request));
  private thinkingFacts: ThinkingFacts | undefined;
  private readonly closes = new Map<string, ThinkingCloses>(); // by tags
  private readonly toolTexts = new Recent<ToolTexts>(RECENT_MAX);

  /** Throws ServiceError(template_failed) when it does not parse, or fails with every conversation. */
  constructor(native: Native, model: Handle, options: TemplateOptions) {
    const { vocabulary, contextTokens, source, contentTokens = [], media, name = "the model" } = options;
    const template = source === undefined ? null : cText(source);
    const chat = native.svc_chat_open(model, template, cText(JSON.stringify(contentTokens)));
    if (chat === null) {
      const reason = nativeText(native.svc_last_error());
      if (reason.startsWith("content_tokens")) throw new ServiceError("model_unavailable", reason);
      throw templateFault(name, reason);
    }
    this.name = name;
    this.leavesOut = leftOut(native, chat);
    this.native = native;
    this.model = model;
    this.chat = chat;
    this.answers = new PlannedAnswers(native, model, RECENT_MAX);
    this.vocabulary = vocabulary;
    this.contextTokens = contextTokens;
    this.media = media;
    this.thinkingDefault = options.thinkingDefault ?? "on";
  }

  /** Whether the template supports thinking: determined by rendering a short conversation. */
  canThink(): boolean {
    return this.thinking.isSupported;
  }

  /** Whether the vocabulary has fill-in-the-middle tokens: determined likewise. */
  canFillGaps(): boolean {
    return this.probe({ prompt: "a", suffix: "b" }) !== undefined;
  }

  private effortPrompt(word: string | undefined): string | undefined {
    const messages = [{ role: "user", content: "Hi" }];
    return this.probedText({ messages, enable_thinking: true, kwargs: effortFields(word) });
  }

  private probedText(request: object): string | undefined {
    return this.probed(request, (handle) => takeText(this.native, this.native.svc_render_prompt(handle)));
  }

  private probe(request: object): RenderInfo | undefined {
    return this.probed(request, (handle) => renderInfo(this.native, handle));
  }

  /** Found out by rendering short conversations, once. */
  private get thinking(): ThinkingFacts {
    return (this.thinkingFacts ??= thinkingFacts(this.native, {
      tokenize: (text) => this.tokenize(text),
      probed: (messages, read) => this.probed({ messages, enable_thinking: true, kwargs: {} }, read),
    }));
  }

  /** What is read of a rendered request; undefined if it cannot be rendered. */
  private probed<T>(request: object, read: (handle: Handle) => T): T | undefined {
    const handle = this.native.svc_render_begin(this.chat, cText(JSON.stringify(request)), 0);
    if (handle === null) return undefined;
    try {
      if (this.native.svc_render_wait(handle, PROBE_WAIT_MS) <= 0) return undefined;
      return read(handle);
    } finally {
      this.native.svc_render_free(handle);
    }
  }

  /** Starts to render and tokenize. Throws ServiceError(invalid_request) for tokens outside the vocabulary. */
  render(prompt: Extract<Prompt, { type: "tokens" }> | NativePrompt): PendingPrompt {
    if (prompt.type === "tokens") {
      const unknown = prompt.tokens.find((token) => token < 0 || token >= this.vocabulary);
      if (unknown !== undefined) {
        const message = `token ${unknown} is not in the model's vocabulary of ${this.vocabulary} tokens`;
        throw new ServiceError("invalid_request", message, { param: "prompt" });
      }
      return { long: false, take: () => tokenPrompt(prompt.tokens), free: () => {} };
    }
    const { shortIds, generic, typed } = this;
    let limits: TemplateLimits = { shortIds, generic, typed };
    const asked = (): NativePrompt => (limits.generic ? withOneCall(prompt) : prompt);
    const rendering = this.begin(asked(), limits);
    let { handle } = rendering;
    let refused: string | undefined; // the first reason
    /** Renders again, with the features that the template lacks. */
    const retry = (change: Partial<TemplateLimits>): undefined => {
      this.native.svc_render_free(handle);
      limits = { ...limits, ...change };
      ({ handle } = this.begin(asked(), limits));
      return undefined;
    };
    const take = (waitMs: number): RenderedPrompt | undefined => {
      const state = this.native.svc_render_wait(handle, waitMs);
      if (state === 0) return undefined;
      if (state > 0) {
        this.typed ||= limits.typed;
        const info =
          prompt.type === "chat" ? this.thinking.named(renderInfo(this.native, handle)) : undefined;
        const lacking = info === undefined ? undefined : this.lackingTools(info, prompt, limits);
        if (lacking !== undefined) return retry(lacking);
        return this.readyOrFreed(handle, asked(), info, rendering.files);
      }
      const reason = nativeText(this.native.svc_last_error());
      refused ??= reason;
      if (!limits.shortIds && SHORT_IDS.test(reason)) {
        this.shortIds = true;
        return retry({ shortIds: true });
      }
      const hasTools = prompt.type === "chat" && offeredTools(prompt).length > 0;
      if (hasTools && !limits.typed && !limits.generic) return retry({ typed: true });
      // The template may be unable to show only these tools: other conversations are not affected.
      if (hasTools && !limits.generic) return retry({ typed: false, generic: true });
      this.native.svc_render_free(handle);
      throw refusal(prompt, refused, this.name);
    };
    return { long: rendering.long, take, free: () => this.native.svc_render_free(handle) };
  }

  /** How the tools of a rendered request come into its prompt, where the template does not show them or has no format for their calls. */
  private lackingTools(
    info: RenderInfo,
    prompt: NativePrompt,
    { generic, example }: TemplateLimits,
  ): Partial<TemplateLimits> | undefined {
    if (!info.calls || generic || example !== undefined || prompt.type !== "chat") return undefined;
    if (lacksCalls(info)) {
      this.generic = true;
      return { generic: true };
    }
    const shown = this.shownTools.of(prompt.messages);
    if (shown.type === "example") return { example: shown.call };
    return shown.type === "shown" ? undefined : { generic: true };
  }

  private begin(prompt: NativePrompt, limits: TemplateLimits): Rendering {
    const files = hasMedia(prompt) ? new MediaFiles() : undefined;
    const { contextTokens, thinkingDefault, toolTexts, efforts } = this;
    const options = { ...limits, files, contextTokens, thinkingDefault, toolTexts, efforts };
    const request = cText(renderRequest(prompt, options));
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
      const message =
        "this model takes text only, because it has no projector file (mmproj); remove images and audio, or name another model";
      throw new ServiceError("unsupported_capability", message, { param: "messages" });
    }
    const { data, size } = files.columns();
    return this.native.svc_render_media_begin(this.chat, this.media.handle, request, data.length, data, size);
  }

  private readyOrFreed(...[handle, ...facts]: Parameters<LlamaTemplates["ready"]>): RenderedPrompt {
    try {
      return this.ready(handle, ...facts);
    } catch (error) {
      this.native.svc_render_free(handle);
      throw error;
    }
  }

  private ready(
    handle: Handle,
    prompt: NativePrompt,
    info: RenderInfo | undefined,
    files: MediaFiles | undefined,
  ): RenderedPrompt {
    const tokens = this.promptTokens(handle);
    if (prompt.type !== "chat" || info === undefined)
      return new LlamaPrompt(this.native, handle, { tokens, media: [], format: PLAIN_FORMAT, plain: true });
    const media = files === undefined ? [] : (this.media?.chunks(handle, files, tokens) ?? []);
    const format = this.format(handle, prompt, info);
    const { answerPrefix } = prompt;
    if (answerPrefix !== undefined) {
      const written = answerOpening(format, this.thinking.answer, info.generation_prompt);
      return this.begun(handle, answerPrefix, { tokens, media, format, written });
    }
    const planner = this.answers.planner(handle, prompt, info, format.toolMarkers);
    return new LlamaPrompt(this.native, handle, { tokens, media, format, plain: false }, planner);
  }

  /** A prompt with the beginning of the answer. */
  private begun(handle: Handle, prefix: string, facts: Omit<PromptFacts, "plain">): LlamaPrompt {
    const { tokens, format, written = "" } = facts;
    const added = [...this.tokenize(written), ...this.tokenizeText(prefix)];
    return new LlamaPrompt(this.native, handle, {
      ...facts,
      tokens: Int32Array.from([...tokens, ...added]),
      format: { ...format, startsInReasoning: false },
      plain: false,
    });
  }

  private promptTokens(handle: Handle): Int32Array {
    const needed = -this.native.svc_render_tokens(handle, new Int32Array(1), 0);
    const tokens = new Int32Array(Math.max(0, needed));
    if (needed > 0) this.native.svc_render_tokens(handle, tokens, needed);
    return tokens;
  }

  private format(handle: Handle, prompt: ChatPrompt, info: RenderInfo): OutputFormat {
    const toolMarkers = this.answers.toolMarkers(handle, prompt, info);
    const startsInReasoning = opensReasoning(info);
    const mute = this.muteTags(handle, prompt, info, startsInReasoning);
    const loud = info.preserved_tokens.filter((tag) => !mute.has(tag));
    const tags = [info.thinking_start, ...info.thinking_ends, ...loud, ...toolMarkers];
    const thinkingEnds = info.thinking_ends.filter((end) => closesReasoning(info, end));
    return {
      thinks: info.thinks,
      thinkingStart: info.thinking_start,
      thinkingStartTokens: this.tokenize(info.thinking_start),
      thinkingEnds,
      ...this.thinkingCloses({
        start: startsInReasoning ? "" : info.thinking_start,
        end: thinkingEnds[0]?.trim() ?? "",
      }),
      ...defined({ thinkingBudget: thinkingBudget(prompt.thinking, this.efforts) }),
      startsInReasoning,
      toolMarkers,
      toolMarkerTokens: this.tokenize(toolMarkers[0] ?? ""),
      calls: this.answers.callStarts(handle, prompt, info, toolMarkers),
      stops: info.additional_stops,
      visibleTokens: this.visibleTokens([...info.preserved_tokens, info.thinking_start, ...thinkingEnds]),
      markup: [...new Set(tags.filter((tag) => tag !== ""))],
    };
  }

  /**
   * The parser's tags that change nothing in plain text, such as closing ones. They may be frequent in text (`">`,
   * ```` ``` ````), so the parser must not run for each.
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

  private thinkingCloses(tags: ThinkingTags): ThinkingCloses {
    const key = `${tags.start}\n${tags.end}`;
    const known =
      this.closes.get(key) ?? thinkingCloses(tags, this.thinking.answer, (text) => this.tokenize(text));
    this.closes.set(key, known);
    return known;
  }

  /** Tokens of a markup string, control tokens included. */
  private tokenize(text: string): Int32Array {
    const bytes = cText(text);
    const out = new Int32Array(bytes.length);
    const n =
      text === "" ? 0 : this.native.svc_tokenize(this.model, bytes, bytes.length - 1, out, out.length, 0, 1);
    return out.slice(0, Math.max(0, n));
  }

  /** Tokens of message text, in which markup is plain text. */
  private tokenizeText(text: string): Int32Array {
    const bytes = cText(text);
    const out = new Int32Array(bytes.length + 1); // some vocabularies prepend a space
    const n = this.native.svc_chat_tokenize(this.chat, bytes, bytes.length - 1, out, out.length);
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

  /** Frees the template. All prompts must have been freed before. */
  close(): void {
    this.native.svc_chat_free(this.chat);
  }
}
