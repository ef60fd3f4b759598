// A model that reasons in the form of a chat template until its reasoning is ended, and then answers: real templates and tokens, no
// weights. What it writes next depends on what stands there already, whoever has written it.

import { read } from "bun:ffi";
import { LlamaTemplates } from "../../ffi/llama/chat.ts";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { cText } from "../../ffi/text.ts";
import type { Prompt } from "../../src/core/run.ts";
import type { OutputFormat, PendingPrompt, RenderedPrompt } from "../../src/worker/text/backend.ts";
import { FakeBackend } from "./fake-backend.ts";
import { native } from "./native.ts";

/** How a form goes on after reasoning. */
export interface WrittenForm {
  readonly opening: string;
  readonly closing?: string;
  /** The model reasons a second time, with this before it. */
  readonly again?: string;
}

/** Each is a token, with the space before it, and no end of one begins a tag. */
const WORDS = ["so", "this", "and", "the", "is"];

export class WritingBackend extends FakeBackend {
  override readonly vocabulary: number;
  private readonly model: LlamaBackend;
  private readonly templates: LlamaTemplates;
  private readonly prompts: Int32Array[] = [];
  private readonly ends: readonly number[];
  private readonly answer: string;
  private readonly form: WrittenForm;
  private format: OutputFormat | undefined;

  constructor(model: LlamaBackend, source: string, form: WrittenForm, answer: string) {
    super({
      maxSeqs: 8,
      slots: 8,
      cells: 65_536,
      batch: 8192,
      ubatch: 8192,
      contextTokens: 16_384,
      eogOneIn: 1,
    });
    this.vocabulary = model.vocabulary;
    this.model = model;
    this.ends = Array.from({ length: model.vocabulary }, (_, id) => id).filter((id) =>
      model.endsGeneration(id),
    );
    this.form = form;
    this.answer = answer;
    this.templates = new LlamaTemplates(native(), model.modelHandle, {
      vocabulary: model.vocabulary,
      contextTokens: 16_384,
      source,
      media: undefined,
    });
  }

  /** The format of the last prompt. */
  get written(): OutputFormat {
    if (this.format === undefined) throw new Error("nothing was rendered");
    return this.format;
  }

  override render(prompt: Prompt): PendingPrompt {
    if (prompt.type !== "chat") throw new Error("a conversation");
    const pending = this.templates.render(prompt);
    const take = (waitMs: number): RenderedPrompt | undefined => {
      const rendered = pending.take(waitMs);
      if (rendered === undefined) return undefined;
      this.format = rendered.format;
      this.prompts.push(rendered.tokens);
      return rendered;
    };
    return { long: pending.long, take, free: pending.free };
  }

  override next(tokens: readonly number[]): number {
    const [wanted] = this.wanted(tokens);
    return wanted ?? this.ends[0] ?? -1;
  }

  override sample(...[n, rows, samplers, masks, tokens]: Parameters<FakeBackend["sample"]>): void {
    super.sample(n, rows, samplers, masks, tokens);
    for (let i = 0; i < n; i++) {
      const mask = Number(masks[i]);
      const held = this.tokensOf(rows[i] ?? -1);
      const [other = -1] = this.wanted(held, true);
      const choices = tokens[i] === this.ends[0] ? this.ends : [tokens[i] ?? -1, other];
      const may = (token: number): boolean =>
        mask === 0 || ((read.u32(mask, 4 * (token >> 5)) >>> (token & 31)) & 1) === 1;
      tokens[i] = choices.find(may) ?? -1;
    }
  }

  override tokenBytes(token: number, visible = false): Uint8Array {
    return this.model.tokenBytes(token, visible);
  }

  override endsGeneration(token: number): boolean {
    return this.model.endsGeneration(token);
  }

  close(): void {
    this.templates.close();
  }

  /** Tokens that the model would write next, the one that it wants first; none: the end. `answers`: it must not reason. */
  private wanted(tokens: readonly number[], answers = false): Int32Array {
    const prompt = this.prompts.find((one) => one.every((token, at) => token === tokens[at]));
    const bytes = tokens.slice(prompt?.length ?? 0).map((token) => this.model.tokenBytes(token, true));
    return this.tokenize(this.rest(Buffer.concat(bytes).toString(), answers));
  }

  /** What the model writes after a text. */
  private rest(text: string, answers: boolean): string {
    const { startsInReasoning, thinkingStart, thinkingEnds } = this.written;
    const [end = ""] = thinkingEnds.map((one) => one.trim());
    const { opening, closing = "", again } = this.form;
    const said = `${this.answer}${closing}`;
    if (text.endsWith(said)) return "";
    const [, ...later] = text.split(end);
    const last = later.at(-1) ?? text;
    const mayReason = !answers && (later.length === 0 || (later.length === 1 && again !== undefined));
    const head = later.length > 0 ? `${again}${thinkingStart}` : startsInReasoning ? "" : thinkingStart;
    if (mayReason && head.length > last.length && head.startsWith(last)) return head.slice(last.length);
    const full = [opening + said, said].find((one) => last !== "" && one.startsWith(last));
    if (full !== undefined) return full.slice(last.length);
    return mayReason ? ` ${WORDS[last.split(" ").length % WORDS.length]}` : opening + said;
  }

  private tokenize(text: string): Int32Array {
    const bytes = cText(text);
    const out = new Int32Array(bytes.length);
    const n =
      text === ""
        ? 0
        : native().svc_tokenize(this.model.modelHandle, bytes, bytes.length - 1, out, out.length, 0, 1);
    return out.slice(0, Math.max(0, n));
  }
}
