// A natively rendered prompt, and the parser of the answer to it.

import type {
  AnswerPlan,
  JsonSchemaConstraint,
  OutputFormat,
  ParsedMessage,
  RenderedPrompt,
} from "../../src/worker/text/backend.ts";
import type { MediaChunk } from "../../src/worker/text/media-backend.ts";
import type { AnswerPlanner } from "./answer-plan.ts";
import type { Native } from "../library.ts";
import { cText, type Handle, takeText } from "../text.ts";

type NativeCall = {
  readonly id?: string;
  readonly function: { readonly name: string; readonly arguments: string };
};

/** See RenderedPrompt.parse. */
export function parseAnswer(native: Native, handle: Handle, text: string): ParsedMessage | undefined {
  const bytes = cText(text);
  // Not `partial`: with it, text outside the format would give some message instead of none.
  const result = native.svc_render_parse(handle, bytes, bytes.length - 1, 0);
  if (result === null) return undefined;
  const message = JSON.parse(takeText(native, result));
  return {
    content: typeof message.content === "string" ? message.content : "",
    reasoning: message.reasoning_content ?? "",
    toolCalls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }: NativeCall) => {
      return { id: id ?? "", name, arguments: args };
    }),
  };
}

/** A message of text only. */
export const PLAIN_FORMAT: OutputFormat = {
  thinks: false,
  thinkingStart: "",
  thinkingStartTokens: new Int32Array(),
  thinkingEnds: [],
  startsInReasoning: false,
  toolMarkers: [],
  toolMarkerTokens: new Int32Array(),
  stops: [],
  visibleTokens: new Set(),
  markup: [],
};

/** A prompt that is given as token ids: it has no parser. */
export function tokenPrompt(tokens: readonly number[]): RenderedPrompt {
  return {
    tokens: Int32Array.from(tokens),
    media: [],
    format: PLAIN_FORMAT,
    plain: true,
    plan: () => undefined,
    parse: () => undefined,
    free: () => {},
  };
}

/** The non-native part of a prompt. */
export type PromptFacts = Pick<RenderedPrompt, "tokens" | "media" | "format" | "plain"> & {
  /** The model goes on with an answer whose text follows this markup. */
  readonly written?: string;
};

const NOTHING: ParsedMessage = { content: "", reasoning: "", toolCalls: [] };
/** Stands for the text that an answer goes on with: a parser takes white space at the beginning of an answer away. */
const BEGUN = "x";

/** A prompt with its native handle. */
export class LlamaPrompt implements RenderedPrompt {
  readonly tokens: Int32Array;
  readonly media: readonly MediaChunk[];
  readonly format: OutputFormat;
  readonly plain: boolean;
  /** For native calls in this folder only. */
  readonly handle: Handle;
  private readonly native: Native;
  private readonly written: string | undefined;
  private readonly planner: AnswerPlanner | undefined;
  /** What the parser reads of the prompt's end: empty reasoning, or a note that there is no budget. It is no part of the answer. */
  private own: ParsedMessage | undefined;
  private freed = false;

  constructor(native: Native, handle: Handle, facts: PromptFacts, planner?: AnswerPlanner) {
    const { tokens, media, format, plain, written } = facts;
    this.written = written;
    this.native = native;
    this.planner = planner;
    this.handle = handle;
    this.tokens = tokens;
    this.media = media;
    this.format = format;
    this.plain = plain;
  }

  plan(content?: JsonSchemaConstraint): AnswerPlan | undefined {
    return this.planner?.(content);
  }

  parse(text: string): ParsedMessage | undefined {
    const message = this.read(text);
    if (message === undefined) return undefined;
    const { content, reasoning } = (this.own ??= this.read("") ?? NOTHING);
    return {
      ...message,
      content: without(message.content, content),
      reasoning: without(message.reasoning, reasoning),
    };
  }

  private read(text: string): ParsedMessage | undefined {
    const { native, handle, written = "" } = this;
    const begun =
      this.written === undefined ? undefined : parseAnswer(native, handle, written + BEGUN + text);
    return begun?.content.trimStart().startsWith(BEGUN) === true
      ? { ...begun, content: begun.content.trimStart().slice(BEGUN.length) }
      : parseAnswer(native, handle, written + text);
  }

  free(): void {
    if (this.freed) return;
    this.freed = true;
    this.native.svc_render_free(this.handle);
  }
}

function without(text: string, beginning: string): string {
  return text.startsWith(beginning) ? text.slice(beginning.length) : text;
}
