// Chat templates of all families, opened for one vocabulary, and prompts rendered with them.

import { LlamaTemplates } from "../../ffi/llama/chat.ts";
import { cText, takeText } from "../../ffi/text.ts";
import type { Message, ToolSpec } from "../../src/core/message.ts";
import type { Thinking, ToolChoice } from "../../src/core/run.ts";
import type { ParsedMessage, RenderedPrompt } from "../../src/worker/text/backend.ts";
import { native } from "./native.ts";
import type { Vocabulary } from "./vocabularies.ts";

/** What a prompt is made of. */
export interface Asked {
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolSpec[];
  readonly toolChoice?: ToolChoice;
  readonly thinking?: Thinking;
  readonly answerPrefix?: string;
}

/** What became of it. */
export interface Rendered {
  readonly text: string;
  readonly tokens: readonly number[];
  /** The template was told to think. */
  readonly thinks: boolean;
  /** What is read of the answer. */
  readonly parsed: ParsedMessage | undefined;
}

export interface BenchOptions {
  readonly contentTokens?: readonly string[];
  readonly thinkingDefault?: "on" | "template";
}

/** Templates by name, for the prompts of a test. */
export class TemplateBench {
  private readonly opened = new Map<string, LlamaTemplates>();
  readonly vocabulary: Vocabulary;
  private readonly sources: ReadonlyMap<string, string>;
  private readonly options: BenchOptions;

  constructor(vocabulary: Vocabulary, sources: ReadonlyMap<string, string>, options: BenchOptions = {}) {
    this.vocabulary = vocabulary;
    this.sources = sources;
    this.options = options;
  }

  /** Throws the ServiceError of a prompt that cannot be rendered. */
  render(name: string, asked: Asked, answer = ""): Rendered {
    const pending = this.open(name).render({
      type: "chat",
      tools: [],
      toolChoice: { type: "auto" },
      thinking: { enabled: true },
      ...asked,
    });
    let prompt: RenderedPrompt | undefined;
    while (prompt === undefined) prompt = pending.take(5000);
    // Prompts of this kind have a handle; nobody else needs to know.
    const { handle } = prompt as RenderedPrompt & { readonly handle: bigint };
    const text = takeText(native(), native().svc_render_prompt(handle));
    const { tokens, format } = prompt;
    const rendered = { text, tokens: [...tokens], thinks: format.thinks, parsed: prompt.parse(answer) };
    prompt.free();
    return rendered;
  }

  /** Tokens of a text in which all markup is markup. */
  tokensOfMarkup(text: string): readonly number[] {
    const bytes = cText(text);
    const out = new Int32Array(4 * bytes.length);
    const { handle } = this.vocabulary;
    const n = native().svc_tokenize(handle, bytes, bytes.length - 1, out, out.length, 1, 1);
    return [...out.subarray(0, n)];
  }

  /** The control and user-defined tokens among `tokens`, as texts. */
  markup(tokens: readonly number[]): readonly string[] {
    return tokens.flatMap((token) => this.vocabulary.special.get(token) ?? []);
  }

  close(): void {
    for (const template of this.opened.values()) template.close();
    native().svc_model_free(this.vocabulary.handle);
  }

  private open(name: string): LlamaTemplates {
    const known = this.opened.get(name);
    if (known !== undefined) return known;
    const { handle, size } = this.vocabulary;
    const source = this.sources.get(name);
    const fresh = new LlamaTemplates(native(), handle, {
      vocabulary: size,
      contextTokens: 4096,
      source,
      media: undefined,
      ...this.options,
    });
    this.opened.set(name, fresh);
    return fresh;
  }
}
