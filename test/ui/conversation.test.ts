// Conversations: tree of messages, request body, export files and server sessions.

import { describe, expect, test } from "bun:test";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import {
  append,
  type AssistantMessage,
  type Attachment,
  changeAnswer,
  type Conversation,
  DEFAULT_SETTINGS,
  showAlternative,
  siblings,
  thread,
  type UserMessage,
  restored,
} from "../../ui/state/conversation.ts";
import { cardOf, type ModelCard, ofKind, takes } from "../../ui/state/model-card.ts";
import { chatRequest } from "../../ui/state/request.ts";
import { emptyConversation, exportText, fromSession, importText } from "../../ui/state/transfer.ts";

const question = (id: string, parent: string | null, attachments: Attachment[] = []): UserMessage => ({
  id,
  parent,
  role: "user",
  text: `Question ${id}`,
  attachments,
});

const answer = (id: string, parent: string): AssistantMessage => ({
  id,
  parent,
  role: "assistant",
  model: "m",
  parts: [
    { type: "reasoning", text: "Hm." },
    { type: "text", text: `Answer ${id}` },
  ],
  state: "done",
});

const said = (...messages: readonly (UserMessage | AssistantMessage)[]): Conversation =>
  messages.reduce(append, emptyConversation("c", 1));

const ids = (conversation: Conversation): readonly string[] => thread(conversation).map(({ id }) => id);

describe("the tree of messages", () => {
  const once = said(question("q1", null), answer("a1", "q1"), question("q2", "a1"), answer("a2", "q2"));

  test("is shown as one thread", () => {
    expect(ids(once)).toEqual(["q1", "a1", "q2", "a2"]);
  });

  test("keeps the answer that a second answer replaces", () => {
    const again = append(once, answer("a2b", "q2"));
    expect(ids(again)).toEqual(["q1", "a1", "q2", "a2b"]);
    expect(siblings(again, answer("a2b", "q2")).map(({ id }) => id)).toEqual(["a2", "a2b"]);
    expect(ids(showAlternative(again, "a2"))).toEqual(["q1", "a1", "q2", "a2"]);
  });

  test("keeps the thread that an edited question replaces, and can select it again", () => {
    const edited = [question("q1b", null), answer("a1b", "q1b")].reduce(append, once);
    expect(ids(edited)).toEqual(["q1b", "a1b"]);
    expect(ids(showAlternative(edited, "q1"))).toEqual(["q1", "a1", "q2", "a2"]);
  });

  test("derives the title from the first question", () => {
    expect(once.title).toBe("Question q1");
    const long = { ...question("q", null), text: `${"word ".repeat(40)}\nsecond line` };
    expect(said(long).title).toHaveLength(60);
    expect(said({ ...long, text: "" }).title).toBe("Untitled");
  });

  test("does not hang on a cycle", () => {
    const ring = { ...once, messages: [question("x", "y"), question("y", "x")], leaf: "x" };
    expect(ids(ring)).toHaveLength(2);
  });

  test("marks running answers as stopped when loaded", () => {
    const left = changeAnswer(once, "a2", (before) => ({ ...before, state: "running" }));
    expect(restored(left).messages.at(-1)).toMatchObject({ state: "stopped" });
  });
});

test("a setting newer than a conversation takes its default", () => {
  const { shell: _, ...older } = DEFAULT_SETTINGS;
  const kept = { ...emptyConversation("c", 1), settings: { ...older, system: "Be brief." } };
  const { settings } = restored(JSON.parse(JSON.stringify(kept)) as Conversation);
  expect(settings).toEqual({ ...DEFAULT_SETTINGS, system: "Be brief." });
});

describe("the request", () => {
  const base = said(question("q1", null), answer("a1", "q1"), question("q2", "a1"));

  test("omits unset fields", () => {
    expect(chatRequest(base)).toEqual({
      messages: [
        { role: "user", content: "Question q1" },
        { role: "assistant", content: "Answer a1" },
        { role: "user", content: "Question q2" },
      ],
      stream: true,
    });
  });

  test("has all settings in the form of the API", () => {
    const settings = {
      ...DEFAULT_SETTINGS,
      system: "Be brief.",
      temperature: 0,
      top_k: 40,
      max_tokens: 100,
      stop: "END\n\nSTOP",
      reasoning: "low",
      python: true,
      permission: "ask",
    };
    const body = chatRequest({ ...base, model: "m", session: "s", settings });
    const { run, agent } = parseChatRequest(body);
    expect(run).toMatchObject({
      model: "m",
      maxTokens: 100,
      stop: ["END", "STOP"],
      sampling: { temperature: 0, topK: 40 },
      prompt: { thinking: { enabled: true, effort: "low" } },
    });
    expect(run.prompt.messages[0]).toMatchObject({ role: "system" });
    expect(agent).toMatchObject({ sessionId: "s", permission: "ask", python: true, interactive: true });
  });

  test("sends files as files, images and audio as media", () => {
    const data = "data:text/csv;base64,YSxi";
    const attach = (name: string, mime: string) => ({ name, mime, bytes: 3, data });
    const attachments = [
      attach("a.csv", "text/csv"),
      attach("b.png", "image/png"),
      attach("c.wav", "audio/x-wav"),
    ];
    expect(chatRequest(said(question("q", null, attachments)))).toMatchObject({
      messages: [
        {
          content: [
            { type: "file", file: { filename: "a.csv", file_data: data } },
            { type: "image_url", image_url: { url: data } },
            { type: "input_audio", input_audio: { data: "YSxi", format: "wav" } },
            { type: "text", text: "Question q" },
          ],
        },
      ],
    });
  });

  test("sends images and audio as files to a model known not to accept them", () => {
    const data = "data:image/png;base64,YSxi";
    const attachments = [{ name: "b.png", mime: "image/png", bytes: 3, data }];
    const asked = (modalities: readonly ("image" | "audio")[]) =>
      chatRequest(said(question("q", null, attachments)), { id: "m", modalities })["messages"];
    const text = { type: "text", text: "Question q" };
    expect(asked(["audio"])).toEqual([
      { role: "user", content: [{ type: "file", file: { filename: "b.png", file_data: data } }, text] },
    ]);
    expect(asked(["image"])).toEqual([
      { role: "user", content: [{ type: "image_url", image_url: { url: data } }, text] },
    ]);
  });

  test("omits answers without text", () => {
    const failed: AssistantMessage = { ...answer("a1", "q1"), parts: [], state: "failed" };
    expect(chatRequest(said(question("q1", null), failed, question("q2", "a1")))["messages"]).toHaveLength(2);
  });
});

describe("export files", () => {
  const conversation = said(question("q1", null), answer("a1", "q1"));

  test("are imported without loss", () => {
    expect(importText(exportText([conversation]))).toEqual([conversation]);
  });

  test.each([
    ["not JSON", "hello", "not valid JSON"],
    ["other JSON", '{"a":1}', "not a conversation export"],
    ["of a newer version", exportText([]).replace('"version": 1', '"version": 9'), "version 9"],
    ["damaged", exportText([conversation]).replace('"role": "user"', '"role": "king"'), "Conversation 1"],
  ])("that are %s are refused", (_, text, message) => {
    expect(() => importText(text)).toThrow(message);
  });
});

test("a server session becomes a conversation without its tool messages", () => {
  let count = 0;
  const session = {
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "List the files." }] },
      { role: "assistant", content: "" },
      { role: "tool", content: "a.txt" },
      { role: "assistant", content: "There is a.txt." },
    ],
  };
  const conversation = fromSession("s1", session, { id: "c", now: 1, newId: () => `m${++count}` });
  expect(conversation).toMatchObject({
    session: "s1",
    title: "List the files.",
    settings: { system: "Be brief." },
  });
  expect(chatRequest(conversation)["messages"]).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: "List the files." },
    { role: "assistant", content: "There is a.txt." },
  ]);
});

test("images and audio of a session are attached to their messages", () => {
  const session = {
    messages: [
      { role: "user", content: [{ type: "image" }, { type: "text", text: "And this?" }] },
      { role: "tool", content: [{ type: "image" }] },
      { role: "user", content: [{ type: "image" }, { type: "audio" }] },
    ],
    images: ["iVBORw0KGgoA", "R0lGODlh", "/9j/4AAQ"],
    audios: ["UklGRgAA"],
  };
  const { messages } = fromSession("s1", session, { id: "c", now: 1, newId: () => String(Math.random()) });
  const files = messages.map((message) =>
    message.role === "user" ? message.attachments.map(({ mime, data }) => [mime, data]) : [],
  );
  expect(files).toEqual([
    [["image/png", "data:image/png;base64,iVBORw0KGgoA"]],
    [
      ["image/jpeg", "data:image/jpeg;base64,/9j/4AAQ"],
      ["audio/wav", "data:audio/wav;base64,UklGRgAA"],
    ],
  ]);
});

describe("model cards", () => {
  const cards = [
    { id: "painter", kind: "image" },
    { id: "eyes", kind: "text", modalities: ["image"] },
    { id: "eyes:poet", kind: "text", parent: "eyes" },
    { id: "old" },
  ] satisfies ModelCard[];

  test("are offered by kind; a card without kind is offered everywhere", () => {
    expect(ofKind(cards, "text").map(({ id }) => id)).toEqual(["eyes", "eyes:poet", "old"]);
    expect(ofKind(cards, "image").map(({ id }) => id)).toEqual(["painter", "old"]);
  });

  test("have the input modalities: an adapter those of its base model, the default those of the first", () => {
    const answers = ["", "eyes", "eyes:poet", "old", "gone"].map((name) =>
      takes(cardOf(cards, name), "image"),
    );
    expect(answers).toEqual([true, true, true, undefined, undefined]);
    expect(takes(cardOf(cards, "eyes"), "audio")).toBe(false);
  });
});
