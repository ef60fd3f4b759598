// How a model marks its reasoning where llama.cpp's analysis of the template names no tags; and what it writes between reasoning and
// answer. Text in, text out.

import { has, type Piece, partsOf } from "../../src/grammar/peg.ts";
import type { OutputFormat, ParsedMessage } from "../../src/worker/text/backend.ts";

export interface ReasoningTags {
  readonly start: string;
  readonly end: string;
}

/** Forms that no template shows in a history, but asks for in the prompt, or that the vocabulary has tokens of. */
const FORMS: readonly (ReasoningTags & { readonly asked?: string })[] = [
  { start: "<|inner_prefix|>", end: "<|inner_suffix|>", asked: "Deliberation: enabled" }, // Apertus
  { start: "Here is my thought process:", end: "Here is my response:", asked: "Here is my thought process:" }, // Granite 3.2
  { start: "Here are my reasoning steps:", end: "[BEGIN FINAL RESPONSE]", asked: "[BEGIN FINAL RESPONSE]" }, // Apriel 1.5
  { start: "◁think▷", end: "◁/think▷" }, // Kimi VL
  { start: "<thought>", end: "</thought>" }, // EXAONE Deep
  { start: "<think>", end: "</think>" },
];

/** What a form is looked for in: the prompt of a short conversation that asks for reasoning, and the parser of its answer. */
export interface FormSource {
  readonly prompt: string;
  readonly parser: Piece | undefined;
  /** Whether a text is one token. */
  readonly isToken: (text: string) => boolean;
}

/** The tags, and whether the template asks for them; undefined: the model does not reason. */
export function reasoningForm({
  prompt,
  parser,
  isToken,
}: FormSource): { readonly tags: ReasoningTags; readonly isAsked: boolean } | undefined {
  const parsed = parser === undefined ? undefined : tagsIn(parser);
  if (parsed !== undefined) return { tags: parsed, isAsked: true };
  const asked = FORMS.find((form) => form.asked !== undefined && prompt.includes(form.asked));
  const found = asked ?? FORMS.find(({ start, end }) => isToken(start) && isToken(end));
  return found === undefined ? undefined : { tags: found, isAsked: asked !== undefined };
}

/** The literals around reasoning in a parser. */
function tagsIn(piece: Piece): ReasoningTags | undefined {
  if (!has(piece, "reasoning")) return undefined;
  const parts = partsOf(piece);
  const at = parts.findIndex((part) => part.kind === "tag" && part.tag === "reasoning");
  const [before, after] = [parts[at - 1], parts[at + 1]];
  if (piece.kind === "sequence" && before?.kind === "literal" && after?.kind === "literal")
    return { start: before.text, end: after.text.trim() };
  for (const part of parts) {
    const found = tagsIn(part);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** How an answer goes on after its reasoning. */
export interface AnswerForm {
  /** Markup between the end of reasoning and the answer. */
  readonly opening: string;
  /** What an answer without reasoning begins with, "" if it needs none. */
  readonly direct: string;
  /** Reasoning may begin again after its end. */
  readonly reopens: boolean;
}

export const NO_ANSWER_FORM: AnswerForm = { opening: "", direct: "", reopens: false };

/** Words that no markup contains. */
const THOUGHT = "qq1";
const AGAIN = "qq2";
export const SAID = "qq3";
/** Most places at which the opening of an answer is looked for. */
const PLACES_MAX = 12;

export interface AnswerSample {
  /** A prompt, and that of a conversation that goes on with the answer SAID. */
  readonly prompt: string;
  /** What the parser makes of an answer. */
  readonly parse: (text: string) => ParsedMessage | undefined;
  /** The prompt has the opening tag. */
  readonly isOpen: boolean;
  /** What the template begins answers with. */
  readonly written: string;
  readonly history: string;
}

export function answerForm(
  { start, end }: ReasoningTags,
  { parse, isOpen, written, prompt, history }: AnswerSample,
): AnswerForm {
  const thought = `${isOpen ? "" : start}${THOUGHT}${end}`;
  const isKnown = parse(thought)?.reasoning.trim() === THOUGHT;
  const answers = (opening: string): boolean => {
    const message = parse((isKnown ? thought : "") + opening + SAID);
    return message?.content.trim() === SAID && (!isKnown || message.reasoning.trim() === THOUGHT);
  };
  const before = history.slice(0, Math.max(0, history.indexOf(SAID)));
  const places = [...before.matchAll(/[<[]/g)].map(({ index }) => before.slice(index));
  const rest = before.startsWith(prompt) ? before.slice(prompt.length).trimStart() : "";
  const opening = [...places.slice(-PLACES_MAX), rest].find(answers) ?? "";
  const first = opening.startsWith(written) ? opening.slice(written.length) : opening;
  const isDirect = !isOpen && first !== "" && parse(first + SAID)?.content.trim() === SAID;
  const again = (between: string): boolean =>
    parse(`${thought}${between}${start}${AGAIN}`)?.reasoning.includes(AGAIN) === true;
  return { opening, direct: isDirect ? first : "", reopens: again("") || again(written) };
}

/** Markup between a prompt, which ends with `written`, and the text of an answer; reasoning that the prompt opens is closed. */
export function answerOpening(
  { startsInReasoning, thinkingEnds }: Pick<OutputFormat, "startsInReasoning" | "thinkingEnds">,
  { opening }: AnswerForm,
  written: string,
): string {
  if (startsInReasoning) return `${thinkingEnds[0] ?? ""}${opening}`;
  let begun = Math.min(written.length, opening.length);
  while (!written.endsWith(opening.slice(0, begun))) begun--;
  return opening.slice(begun);
}
