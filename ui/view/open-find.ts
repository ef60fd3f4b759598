// Opens the box that finds words in the conversation.

import { current } from "../state/conversations.ts";
import { find } from "../state/find.ts";
import { route } from "../state/route.ts";
import { FIND_ID } from "./find-bar.tsx";

/** Opens it; false where there is no conversation. */
export function openFind(): boolean {
  const conversation = current.value;
  if (route.value.page !== "chat" || conversation === undefined || conversation.messages.length === 0)
    return false;
  if (find.value?.conversation !== conversation.id)
    find.value = { conversation: conversation.id, words: "", at: undefined };
  requestAnimationFrame(() => document.getElementById(FIND_ID)?.focus());
  return true;
}
