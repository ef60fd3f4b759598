// Edits of a conversation, ways out of a full context, assistants and files for sharing, without a browser.

import { describe, expect, test } from "bun:test";
import { assistantsIn } from "../../ui/state/assistant.ts";
import { contextUse, cutAt } from "../../ui/state/context-use.ts";
import {
  append,
  type AssistantMessage,
  type Conversation,
  DEFAULT_SETTINGS,
  sentMessages,
  siblings,
  thread,
  type UserMessage,
} from "../../ui/state/conversation.ts";
import {
  answeredQuestions,
  forked,
  serverTurn,
  withEditedAnswer,
  withMessagesOf,
  withoutMessage,
} from "../../ui/state/edits.ts";
import { merged } from "../../ui/state/merge.ts";
import { promptsFor, promptsIn, selectionIn } from "../../ui/state/prompt.ts";
import { chatRequest } from "../../ui/state/request.ts";
import { fileNameOf, markdownOf } from "../../ui/state/share.ts";
import { emptyConversation, exportText, readExport } from "../../ui/state/transfer.ts";

const question = (id: string, parent: string | null, text = `Question ${id}`): UserMessage => ({
  id,
  parent,
  role: "user",
  text,
  attachments: [],
});
const answer = (id: string, parent: string, text = `Answer ${id}`): AssistantMessage => ({
  id,
  parent,
  role: "assistant",
  model: "m",
  parts: [{ type: "text", text }],
  state: "done",
});
const figures = (promptTokens: number) => ({
  promptTokens,
  cachedTokens: 0,
  completionTokens: 10,
  reasoningTokens: 0,
  speed: 1,
  totalSecs: 1,
});
const messages = [
  question("q1", null),
  answer("a1", "q1"),
  question("q2", "a1"),
  answer("a2", "q2"),
] as const;
const whole: Conversation = messages.reduce(append, emptyConversation("c", 1));
const ids = (conversation: Conversation) => thread(conversation).map(({ id }) => id);
const [q1, a1, q2, a2] = messages;

describe("a deleted message", () => {
  test("has no content, and the thread goes on without it", () => {
    const after = withoutMessage(whole, a1);
    expect(ids(after)).toEqual(["q1", "q2", "a2"]);
    expect(JSON.stringify(after)).not.toContain("Answer a1");
    const less = withoutMessage(whole, q1);
    expect(ids(less)).toEqual(["q2", "a2"]);
    expect(JSON.stringify(less)).not.toContain("q1 ");
    expect(ids(append(withoutMessage(whole, a2), question("q3", "a2")))).toEqual(["q1", "a1", "q2", "q3"]);
  });

  test("stays deleted when another tab saves its state, and restored when that is undone", () => {
    const after = withoutMessage(whole, q2);
    for (const both of [merged(whole, after), merged(after, whole)]) expect(ids(both)).toEqual(["q1", "a1"]);
    const undone = withMessagesOf(after, whole);
    expect(ids(undone)).toEqual(["q1", "a1", "q2", "a2"]);
    for (const both of [merged(after, undone), merged(undone, after)])
      expect(ids(both)).toEqual(["q1", "a1", "q2", "a2"]);
  });

  test("gives way to its other version", () => {
    const two = append(whole, answer("a2b", "q2"));
    expect(ids(withoutMessage(two, answer("a2b", "q2")))).toEqual(["q1", "a1", "q2", "a2"]);
  });
});

test("an edited answer is another version, and what the model gets", () => {
  const after = withEditedAnswer(whole, a2, { id: "before", text: "Mine" });
  expect(ids(after)).toEqual(["q1", "a1", "q2", "a2"]);
  expect(siblings(after, a2).map(({ id }) => id)).toEqual(["before", "a2"]);
  expect(JSON.stringify(chatRequest(after)["messages"])).toContain("Mine");
  expect(JSON.stringify(chatRequest(after)["messages"])).not.toContain("Answer a2");
});

test("a fork has the thread up to its message, without what was deleted", () => {
  const copy = forked(withoutMessage({ ...whole, session: "s" }, a1), q2, { id: "f", now: 2 });
  expect(ids(copy)).toEqual(["q1", "q2"]);
  expect([copy.id, copy.title, copy.session]).toEqual(["f", "Question q1 (fork)", null]);
  expect(ids(whole)).toHaveLength(4);
});

test("the turns after an edited answer stay, in this tab and in another one", () => {
  const after = withEditedAnswer(whole, a1, { id: "before", text: "Mine" });
  for (const both of [after, merged(whole, after), merged(after, whole)]) {
    expect(ids(both)).toEqual(["q1", "a1", "q2", "a2"]);
    expect(JSON.stringify(chatRequest(both)["messages"])).toContain("Mine");
    expect(siblings(both, a1)).toHaveLength(2);
  }
});

test("a fork of a session ends with the last question that has its answer, where the server has it", () => {
  const asked = messages.map((message) => answeredQuestions(whole, message));
  expect(asked).toEqual([[], ["Question q1"], ["Question q1"], ["Question q1", "Question q2"]]);
  const session = (...questions: readonly string[]) => ({
    messages: questions.flatMap((content) => [
      { role: "user", content },
      { role: "assistant", content: "Yes" },
    ]),
  });
  expect(serverTurn(["a", "b"], session("a", "b", "c"))).toBe(1);
  expect(serverTurn(["a", "b"], session("b", "c"))).toBe(0); // the beginning was left out
  expect(serverTurn(["go on", "go on"], session("go on", "go on", "x", "go on"))).toBe(1);
  expect(serverTurn(["a", "b"], session("a", "other"))).toBe(-1); // another version was sent last
  expect(serverTurn(["a"], { messages: [] })).toBe(-1);
  const parts = [{ type: "file" }, { type: "text", text: "File x" }, { type: "text", text: "a" }];
  expect(serverTurn(["a"], { messages: [{ role: "user", content: parts }] })).toBe(0);
  expect(answeredQuestions({ ...whole, cut: { from: "q2", at: "a1", summary: "" } }, a2)).toEqual([
    "Question q2",
  ]);
});

describe("a full context", () => {
  const long = "word ".repeat(700); // 1,000 tokens
  const card = { id: "m", context_length: 4000 };
  const full = [
    question("q1", null, long),
    answer("a1", "q1", long),
    question("q2", "a1", long),
    { ...answer("a2", "q2", "Short"), figures: figures(3300) },
  ].reduce(append, emptyConversation("c", 1));

  test("is told by the server's figures and what is typed", () => {
    const use = contextUse(full, { text: "word ".repeat(70), attachments: [] }, card);
    expect(use.used).toBe(3310);
    expect(use.next).toBeGreaterThan(3400);
    expect(use.parts.map(({ name }) => name)).toEqual(["texts", "typed"]);
    const system = { ...full, settings: { ...full.settings, system: long, python: true } };
    expect(contextUse(system, { text: "", attachments: [] }, card).parts.map(({ name }) => name)).toEqual([
      "system",
      "texts",
    ]);
  });

  test("is cut before a question, and estimated from there on", () => {
    const from = cutAt(full, card, 0.5);
    expect(from?.id).toBe("q2");
    const cut = { ...full, cut: { from: "q2", at: "a2", summary: "They spoke of words." } };
    expect(sentMessages(cut).map(({ id }) => id)).toEqual(["q2", "a2"]);
    expect(contextUse(cut, { text: "", attachments: [] }, card).used).toBeLessThan(1200);
    const [system, ...others] = chatRequest(cut, card)["messages"] as { role: string; content: string }[];
    expect(system?.content).toContain("They spoke of words.");
    expect(others).toHaveLength(2);
    expect(cutAt(cut, card, 0.5)).toBeUndefined();
    expect(ids(cut)).toHaveLength(4);
  });
});

test("Markdown has the questions, files and answers of the thread", () => {
  const text = markdownOf({ ...whole, settings: { ...DEFAULT_SETTINGS, system: "Be\nkind" } });
  expect(text).toStartWith(
    "# Question q1\n\n> Be\n> kind\n\n## Question\n\nQuestion q1\n\n## Answer\n\nAnswer a1",
  );
  expect(fileNameOf("What? Why!")).toBe("What-Why");
  expect(fileNameOf("??")).toBe("conversation");
});

test("a slash and a part of a name find prompts, and the first blank of one is selected", () => {
  const prompts = ["review", "Translate", "rest"].map((name) => ({ id: name, name, text: name }));
  const named = (typed: string) => promptsFor(typed, prompts).map(({ name }) => name);
  expect(named("/")).toEqual(["review", "Translate", "rest"]);
  expect(named("/RE")).toEqual(["review", "rest"]);
  expect(named("/sla")).toEqual(["Translate"]);
  expect([named("re"), named("/re\n"), named("/usr/bin")]).toEqual([[], [], []]);
  expect(selectionIn("To {{language}}: {{text}}")).toEqual([3, 15]);
  expect(selectionIn("Plain")).toEqual([5, 5]);
  const text = exportText([], { prompts: [...prompts, { id: "x", name: "", text: "no name" }] });
  expect(promptsIn(readExport(text).parts.prompts)).toEqual(prompts);
});

test("assistants, pins, tags and cuts survive an export; invalid assistants are left out", () => {
  const assistant = { id: "x", name: "Poet", model: "", settings: { ...DEFAULT_SETTINGS, system: "Rhyme." } };
  const marked = { ...whole, pinned: true, tags: ["work"], cut: { from: "q2", at: "a2", summary: "" } };
  const text = exportText([marked], { assistants: [assistant, { id: "y" }] });
  expect(readExport(text).conversations).toEqual([marked]);
  expect(assistantsIn(readExport(text).parts.assistants)).toEqual([assistant]);
  expect(assistantsIn([{ ...assistant, settings: { system: "Old" } }])[0]?.settings.system).toBe("Old");
});
