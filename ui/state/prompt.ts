// A saved prompt, which is inserted into the message box by its name. Pure.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

export const Prompt = Type.Object({
  id: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  text: Type.String({ minLength: 1 }),
});
export type Prompt = Static<typeof Prompt>;

/** The valid prompts of a list. */
export function promptsIn(list: unknown): readonly Prompt[] {
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  return entries.filter((entry) => Value.Check(Prompt, entry));
}

/** The prompts that a text asks for: a slash and a part of their names, those that begin with it first. */
export function promptsFor(text: string, prompts: readonly Prompt[]): readonly Prompt[] {
  if (!text.startsWith("/") || text.includes("\n")) return [];
  const query = text.slice(1).trim().toLowerCase();
  const found = prompts.filter(({ name }) => name.toLowerCase().includes(query));
  const isFirst = ({ name }: Prompt): boolean => name.toLowerCase().startsWith(query);
  return [...found.filter(isFirst), ...found.filter((prompt) => !isFirst(prompt))];
}

/** What is selected in an inserted prompt: its first blank, `{{like this}}`, or its end. */
export function selectionIn(text: string): readonly [start: number, end: number] {
  const blank = /\{\{[^{}]*\}\}/.exec(text);
  return blank === null ? [text.length, text.length] : [blank.index, blank.index + blank[0].length];
}
