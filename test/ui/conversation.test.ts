// Conversations: tree of messages, request body, export files and server sessions.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
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
  imported,
  isCut,
  restored,
  runningAnswers,
} from "../../ui/state/conversation.ts";
import { cardOf, type ModelCard, ofKind, takes } from "../../ui/state/model-card.ts";
import { chatRequest } from "../../ui/state/request.ts";
import { merged } from "../../ui/state/merge.ts";
import { hitOf } from "../../ui/state/search.ts";
import { emptyConversation, exportText, fromSession, readExport } from "../../ui/state/transfer.ts";

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
    expect(said(long).title).toBe(`${"word ".repeat(11).trim()}…`);
    expect(said({ ...long, text: "x".repeat(80) }).title).toBe(`${"x".repeat(59)}…`);
    const asked = "How do I sort a list? I have tried the method sort, but it changes the list itself.";
    expect(said({ ...long, text: asked }).title).toBe("How do I sort a list?");
    expect(said({ ...long, text: "" }).title).toBe("Untitled");
  });

  test("does not hang on a cycle", () => {
    const ring = { ...once, messages: [question("x", "y"), question("y", "x")], leaf: "x" };
    expect(ids(ring)).toHaveLength(2);
  });

  test("keeps running answers when loaded, and stops those of another browser", () => {
    const left = changeAnswer(once, "a2", (before) => ({ ...before, state: "running" }));
    expect(runningAnswers(restored(left)).map(({ id }) => id)).toEqual(["a2"]);
    expect(imported(left).messages.at(-1)).toMatchObject({ state: "stopped" });
  });

  test("can be continued where an answer was cut within its text", () => {
    const cut = (change: Partial<AssistantMessage>) => isCut({ ...answer("a", "q"), ...change });
    expect(cut({})).toBe(false);
    expect(cut({ state: "stopped" })).toBe(true);
    expect(cut({ state: "failed" })).toBe(true);
    expect(cut({ finish: "length" })).toBe(true);
    expect(cut({ state: "stopped", parts: [{ type: "reasoning", text: "Hm" }] })).toBe(false);
    expect(cut({ state: "failed", code: "context_length_exceeded" })).toBe(false);
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
      return_progress: true,
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

  test("sends texts as text, images and audio as media; with tools, files as files", () => {
    const data = "data:text/csv;base64,YSxi";
    const attach = (name: string, mime: string) => ({ name, mime, bytes: 3, data });
    const attachments = [
      attach("a.csv", "text/csv"),
      attach("b.png", "image/png"),
      attach("c.wav", "audio/x-wav"),
    ];
    const media = [
      { type: "image_url", image_url: { url: data } },
      { type: "input_audio", input_audio: { data: "YSxi", format: "wav" } },
      { type: "text", text: "Question q" },
    ];
    const asked = said(question("q", null, attachments));
    expect(chatRequest(asked)).toMatchObject({
      messages: [{ content: [{ type: "text", text: "File a.csv:\n\na,b\n\n" }, ...media] }],
    });
    const withTools = { ...asked, settings: { ...DEFAULT_SETTINGS, python: true } };
    expect(chatRequest(withTools)).toMatchObject({
      messages: [{ content: [{ type: "file", file: { filename: "a.csv", file_data: data } }, ...media] }],
    });
    // A document's text goes with it: a model that calls no tool would know nothing of it.
    const pdf = { name: "b.pdf", mime: "application/pdf", bytes: 4, data, text: "What it says" };
    expect(
      chatRequest({ ...withTools, ...said(question("q", null, [pdf])), settings: withTools.settings }),
    ).toMatchObject({
      messages: [
        {
          content: [
            { type: "file", file: { filename: "b.pdf" } },
            { type: "text", text: "File b.pdf:\n\nWhat it says\n\n" },
            { type: "text", text: "Question q" },
          ],
        },
      ],
    });
  });

  test("sends as much of a text as fits the model, and says so; what is no text goes as a file", () => {
    const base64 = (bytes: Buffer): string => `data:;base64,${bytes.toString("base64")}`;
    const file = (name: string, mime: string, bytes: Buffer): Attachment => ({
      name,
      mime,
      bytes: bytes.length,
      data: base64(bytes),
    });
    const attachments = [
      file("a.txt", "text/plain", Buffer.from("é".repeat(1000))),
      file("b.json", "application/json", Buffer.from("1".repeat(1000))),
      file("c.py", "application/octet-stream", Buffer.from("3")),
      file("c.ts", "video/mp2t", Buffer.from("3")),
      file("c.csv", "application/vnd.ms-excel", Buffer.from("fffe610000", "hex").subarray(0, 4)),
      file("d.bin", "application/octet-stream", Buffer.from([255, 0, 1])),
      file("e.pdf", "application/pdf", Buffer.from("%PDF")),
    ];
    const { messages } = chatRequest(said(question("q", null, attachments)), {
      id: "m",
      context_length: 1000,
    }) as { messages: { content: { type: string; text?: string }[] }[] };
    const parts = messages[0]?.content ?? [];
    expect(parts.map(({ type }) => type)).toEqual([...Array<string>(5).fill("text"), "file", "file", "text"]);
    expect(parts[0]?.text).toBe(`File a.txt:\n\n${"é".repeat(1000)}\n\n`);
    expect(parts[1]?.text).toStartWith("File b.json (the first 500 of 1000 characters):");
    expect(parts[2]?.text).toStartWith("File c.py (the first 0 of 1 characters):");
  });

  test("leaves out a question that was too long, but asks it when it is the last", () => {
    const failed: AssistantMessage = {
      ...answer("a2", "q2"),
      parts: [],
      state: "failed",
      code: "context_length_exceeded",
    };
    const after = said(question("q1", null), answer("a1", "q1"), question("q2", "a1"), failed);
    const texts = (conversation: Conversation) =>
      (chatRequest(conversation)["messages"] as { content: string }[]).map(({ content }) => content);
    expect(texts(append(after, question("q3", "a2")))).toEqual(["Question q1", "Answer a1", "Question q3"]);
    expect(texts({ ...after, leaf: "q2" })).toEqual(["Question q1", "Answer a1", "Question q2"]);
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

describe("two tabs", () => {
  const base = said(question("q1", null), answer("a1", "q1"));
  const growing = (id: string, text: string, state: AssistantMessage["state"]): AssistantMessage => ({
    ...answer(id, "q1"),
    parts: [{ type: "text", text }],
    state,
  });

  test("that ask at the same time keep both questions", () => {
    const one = [question("qa", "a1"), answer("aa", "qa")].reduce(append, base);
    const two = [question("qb", "a1"), answer("ab", "qb")].reduce(append, base);
    const both = merged(one, two);
    expect(ids(both)).toEqual(["q1", "a1", "qb", "ab"]);
    expect(ids(showAlternative(both, "qa"))).toEqual(["q1", "a1", "qa", "aa"]);
    expect(both.messages).toHaveLength(6);
  });

  test("one of which only watches follow the other", () => {
    const further = [question("q2", "a1"), answer("a2", "q2")].reduce(append, base);
    expect(ids(merged(further, base))).toEqual(["q1", "a1", "q2", "a2"]);
    expect(ids(merged(base, further))).toEqual(["q1", "a1", "q2", "a2"]);
  });

  test("keep the longer state of an answer, and the end of one", () => {
    const begun = append(base, growing("a", "One", "running"));
    const lost = append(base, { ...growing("a", "One", "failed"), code: "connection_lost" });
    const stopped = append(base, growing("a", "One", "stopped"));
    const more = append(base, growing("a", "One two", "running"));
    const done = append(base, growing("a", "One two", "done"));
    const shown = (theirs: Conversation, mine: Conversation) => merged(theirs, mine).messages.at(-1);
    expect(shown(stopped, begun)).toMatchObject({ state: "stopped" });
    expect(shown(lost, begun)).toMatchObject({ state: "running" });
    expect(shown(begun, more)).toMatchObject({ parts: [{ text: "One two" }] });
    expect(shown(more, stopped)).toMatchObject({ parts: [{ text: "One two" }] });
    expect(shown(done, more)).toMatchObject({ state: "done" });
    expect(shown(more, done)).toMatchObject({ state: "done" });
  });

  test("lose no message, in whatever order they save", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.boolean()), { maxLength: 30 }), (moves) => {
        let stored = base;
        const tabs = [base, base];
        const asked: string[] = [];
        for (const [i, [isSecond, saves]] of moves.entries()) {
          const tab = isSecond ? 1 : 0;
          const id = `m${i}`;
          asked.push(id);
          const before = tabs[tab] ?? base;
          tabs[tab] = append(before, question(id, before.leaf));
          if (saves) tabs[tab] = stored = merged(stored, tabs[tab]);
        }
        for (const tab of tabs) stored = merged(stored, tab);
        const found = stored.messages.map(({ id }) => id);
        expect(asked.every((id) => found.includes(id))).toBe(true);
        expect(new Set(found).size).toBe(found.length);
      }),
    );
  });
});

test("a search finds a line of a question, an answer or a file's name", () => {
  const file = { name: "budget.csv", mime: "text/csv", bytes: 1, data: "data:;base64,YQ==" };
  const conversation = said(
    { ...question("q1", null, [file]), text: `${"long ".repeat(30)}Where is the Whale?` },
    answer("a1", "q1"),
  );
  expect(hitOf(conversation, "whale")?.line).toMatch(/^….{20,}Whale\?/);
  expect(hitOf(conversation, "budget")?.line).toContain("budget.csv");
  expect(hitOf(conversation, "answer a1")).toEqual({ message: "a1", line: "Answer a1" });
  expect(hitOf(conversation, "hm.")).toBeUndefined(); // reasoning
});

describe("export files", () => {
  const conversation = said(question("q1", null), answer("a1", "q1"));

  test("are imported without loss", () => {
    expect(readExport(exportText([conversation])).conversations).toEqual([conversation]);
  });

  test.each([
    ["not JSON", "hello", "not valid JSON"],
    ["other JSON", '{"a":1}', "no export that svc knows"],
    ["of a newer version", exportText([]).replace('"version": 1', '"version": 9'), "version 9"],
    ["damaged", exportText([conversation]).replace('"role": "user"', '"role": "king"'), "Conversation 1"],
  ])("that are %s are refused", (_, text, message) => {
    expect(() => readExport(text)).toThrow(message);
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
