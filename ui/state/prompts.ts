// The saved prompts of this browser.

import { namedList } from "./named-list.ts";
import { promptsIn } from "./prompt.ts";

const list = namedList("svc.prompts", promptsIn);

export const { items: prompts, remove: removePrompt, add: addPrompts } = list;

/** Saves a text under a name. */
export function savePrompt(name: string, text: string): void {
  list.save((id) => ({ id, name, text }));
}
