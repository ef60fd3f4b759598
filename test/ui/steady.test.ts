// What messages see of a conversation whose answer grows.

import { expect, test } from "bun:test";
import type { AssistantMessage, Conversation } from "../../ui/state/conversation.ts";
import { append } from "../../ui/state/conversation.ts";
import { emptyConversation } from "../../ui/state/transfer.ts";
import { steady } from "../../ui/view/steady.ts";

const question = { id: "q", parent: null, role: "user" as const, text: "Why?", attachments: [] };
const growing = (text: string, state: AssistantMessage["state"] = "running"): AssistantMessage => ({
  id: "a",
  parent: "q",
  role: "assistant",
  model: "m",
  parts: [{ type: "text", text }],
  state,
});
const asked = append(emptyConversation("c", 1), question);
const before = append(asked, growing("Be"));
const later = (message: AssistantMessage, rest: Partial<Conversation> = {}): Conversation => ({
  ...before,
  messages: [question, message],
  ...rest,
});

test("it stays the same object while an answer grows, and no longer", () => {
  expect(steady(before, later(growing("Because")))).toBe(before);
  const others = [
    later(growing("Because", "done")),
    later(growing("Because"), { title: "Other" }),
    later(growing("Because"), { session: "s" }),
    later(growing("Because"), { pinned: true }),
    { ...later(growing("Because")), messages: [{ ...question, text: "How?" }, growing("Because")] },
    asked,
  ];
  for (const other of others) expect(steady(before, other)).toBe(other);
  const pinned = later(growing("Be"), { pinned: true });
  expect(steady(pinned, before)).toBe(before);
});
