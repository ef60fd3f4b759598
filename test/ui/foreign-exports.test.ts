// Exports of other programs as conversations.

import { expect, test } from "bun:test";
import { answerText, thread } from "../../ui/state/conversation.ts";
import { foreignConversations } from "../../ui/state/foreign-exports.ts";
import { chatRequest } from "../../ui/state/request.ts";

const newId = (): string => "new";

const said = (id: string, parent: string | null, role: string, ...parts: readonly unknown[]) => ({
  id,
  parent,
  children: [],
  message: {
    id,
    author: { role, metadata: {} },
    content: {
      content_type: parts.every((part) => typeof part === "string") ? "text" : "multimodal_text",
      parts,
    },
    recipient: role === "caller" ? "python" : "all",
  },
});

const gpt = {
  title: "Rain",
  create_time: 1_700_000_000.5,
  update_time: 1_700_000_100,
  conversation_id: "c1",
  current_node: "a2",
  mapping: {
    root: { id: "root", parent: null, message: null, children: [] },
    s: said("s", "root", "system", ""),
    q1: said("q1", "s", "user", "Why does it rain?"),
    old: said("old", "q1", "assistant", "First try"),
    a1: said("a1", "q1", "assistant", "Let me look."),
    code: {
      id: "code",
      parent: "a1",
      message: { author: { role: "assistant" }, content: { content_type: "code" }, recipient: "python" },
    },
    tool: said("tool", "code", "tool", "42"),
    a1b: said("a1b", "tool", "assistant", " Clouds."),
    q2: said("q2", "a1b", "user", { content_type: "image_asset_pointer" }, "And this?"),
    a2: said("a2", "q2", "assistant", "Also rain."),
  },
};

test("a ChatGPT export keeps the shown thread, other versions, title and times", () => {
  let leftOut = 0;
  const [conversation] = foreignConversations([gpt], newId, () => leftOut++) ?? [];
  if (conversation === undefined) throw new Error("it is one");
  expect(leftOut).toBe(1); // the image of a question
  const texts = thread(conversation).map((one) => (one.role === "user" ? one.text : answerText(one)));
  expect(texts).toEqual(["Why does it rain?", "Let me look. Clouds.", "And this?", "Also rain."]);
  expect(conversation.messages.map(({ id }) => id)).toContain("old");
  expect([conversation.id, conversation.title]).toEqual(["c1", "Rain"]);
  expect([conversation.created, conversation.updated]).toEqual([1_700_000_000_500, 1_700_000_100_000]);
  expect(JSON.stringify(chatRequest(conversation)["messages"])).toContain("Also rain.");
});

test("an Open WebUI export keeps models, reasoning and images", () => {
  const message = (
    id: string,
    parentId: string | null,
    role: string,
    content: string,
    more: object = {},
  ) => ({
    id,
    parentId,
    childrenIds: [],
    role,
    content,
    ...more,
  });
  const image = { type: "image", url: "data:image/png;base64,AAAA" };
  const chat = {
    id: "w1",
    title: "Walk",
    created_at: 1_700_000_000,
    updated_at: 1_700_000_001,
    chat: {
      models: ["m"],
      history: {
        currentId: "b",
        messages: {
          a: message("a", null, "user", "Where to?", { files: [image, { type: "file", id: "f" }] }),
          b: message(
            "b",
            "a",
            "assistant",
            '<details type="reasoning" done="true">\n<summary>Thought</summary>\n&gt; Hm.\n</details>\nTo the sea.',
            { model: "m" },
          ),
        },
      },
    },
  };
  const [conversation] = foreignConversations([chat], newId) ?? [];
  const [question, answer] = conversation?.messages ?? [];
  expect(question).toMatchObject({
    role: "user",
    text: "Where to?",
    attachments: [{ mime: "image/png", bytes: 3 }],
  });
  expect(answer).toMatchObject({
    model: "m",
    parts: [
      { type: "reasoning", text: "Hm." },
      { type: "text", text: "To the sea." },
    ],
  });
});

test("other files are no such export; a damaged conversation is named; circles end", () => {
  for (const other of [{}, [], null, "x", [{ title: "a" }], { format: "svc-conversations" }])
    expect(foreignConversations(other, newId)).toBeUndefined();
  expect(() => foreignConversations([gpt, { title: "broken" }], newId)).toThrow(/Conversation 2/);
  const round = {
    ...gpt,
    mapping: { x: said("x", "y", "user", "one"), y: said("y", "x", "assistant", "two") },
  };
  expect(foreignConversations([round], newId)?.[0]?.messages).toHaveLength(2);
});
