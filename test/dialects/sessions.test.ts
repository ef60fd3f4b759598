import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Message } from "../../src/core/message.ts";
import { parseSession, sessionBody } from "../../src/dialects/sessions/codec.ts";
import { gif, png, wav } from "../helpers/media-bytes.ts";
import { calls, result, said, user } from "../helpers/talk.ts";
import { testRules } from "../helpers/rules.ts";

const file = (extra: object) => ({
  id: "file-1",
  name: "a.csv",
  bytes: 3,
  created_at: 1,
  purpose: "user_data",
  source: { tool: "user_upload", round: 0, turn: 0 },
  ...extra,
});

/** The value after serialization to JSON and back. */
const sent = (value: object): Record<string, unknown> =>
  JSON.parse(JSON.stringify(value)) as Record<string, unknown>;

test("the wire form is that of chat messages, tool turns included", () => {
  const talk = [
    user("What is 2 + 2?"),
    { ...calls("svc_execute_python", '{"code":"2 + 2"}'), reasoning: "easy" },
    result("svc_execute_python", "4"),
    said("4"),
  ];
  expect<object>(sessionBody(talk, [])).toEqual({
    version: 1,
    messages: [
      { role: "user", content: "What is 2 + 2?" },
      {
        role: "assistant",
        content: "",
        reasoning_content: "easy",
        tool_calls: [
          {
            id: "call_svc_execute_python",
            type: "function",
            function: { name: "svc_execute_python", arguments: { code: "2 + 2" } },
          },
        ],
      },
      {
        role: "tool",
        content: "4",
        tool_call_id: "call_svc_execute_python",
        name: "svc_execute_python",
      },
      { role: "assistant", content: "4" },
    ],
    files: [],
  });
});

const words = fc.string({ unit: "binary", maxLength: 12 });
const textPart = words.map((text) => ({ type: "text" as const, text }));
const toolCall = fc.record({
  id: words,
  name: fc.string({ minLength: 1, maxLength: 8 }),
  arguments: fc.oneof(
    words,
    fc.json({ maxDepth: 2 }),
    fc.constant('{"a": 1}'),
    fc.constant('{"__proto__":1}'),
  ),
});
const message: fc.Arbitrary<Message> = fc.record(
  {
    role: fc.constantFrom("system", "developer", "user", "assistant", "tool"),
    content: fc
      .array(textPart, { maxLength: 3 })
      .filter((parts) => !(parts.length === 1 && parts[0]?.text === "")),
    reasoning: words,
    toolCalls: fc.array(toolCall, { minLength: 1, maxLength: 3 }),
    toolCallId: words,
    name: words,
  },
  { requiredKeys: ["role", "content"], noNullPrototype: true },
);

test("any session is unchanged by export and import", () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 6 }), (messages) => {
      expect(parseSession(sent(sessionBody(messages, []))).messages).toEqual(messages);
    }),
    { numRuns: 1000 },
  );
});

describe("files are exported with their bytes", () => {
  test.each([
    ["text", { text: "a,b" }, { bytes: new TextEncoder().encode("a,b") }],
    ["base64", { data_base64: "/wAB" }, { bytes: Uint8Array.of(0xff, 0, 1) }],
    ["a failure", { code: "x", message: "why" }, { failure: { code: "x", message: "why" } }],
  ])("as %s", (_, body, content) => {
    const { files } = parseSession({ messages: [], files: [file(body)] });
    expect(files).toEqual([
      {
        content,
        file: {
          id: "file-1",
          name: "a.csv",
          purpose: "user_data",
          source: { tool: "user_upload", round: 0, turn: 0 },
        },
      },
    ] as typeof files);
  });

  test("or omitted", () => {
    expect(parseSession({ messages: [], files: [file({})] }).files).toEqual([]);
    expect(parseSession({ messages: [] }).files).toEqual([]);
  });
});

test("images and audio are exported in the order of the parts that refer to them", () => {
  const [red, blue, sound] = [png(), gif(), wav()].map((bytes) => bytes.toBase64());
  const messages: readonly Message[] = [
    {
      role: "user",
      content: [
        { type: "image", data: red ?? "" },
        { type: "text", text: "and" },
        { type: "audio", data: sound ?? "" },
      ],
    },
    { role: "tool", content: [{ type: "image", data: blue ?? "" }], toolCallId: "c", name: "f" },
  ];
  const body = sessionBody(messages, []);
  expect(body.messages.map(({ content }) => content)).toEqual([
    [{ type: "image" }, { type: "text", text: "and" }, { type: "audio" }],
    [{ type: "image" }],
  ]);
  expect(body).toMatchObject({ images: [red, blue], audios: [sound] });
  expect(parseSession({ ...body }).messages).toEqual(messages);
});

test("accepts the forms of other servers", () => {
  const { messages } = parseSession({
    messages: [
      { role: "user", content: [{ type: "text", text: "Hi" }], extra: 1 },
      { role: "assistant", content: null, tool_calls: [{ function: { name: "f", arguments: {} } }] },
      { role: "tool", name: "f", content: "ok" },
    ],
    images: [],
    videos: null,
  });
  expect(messages).toEqual([
    user("Hi"),
    { role: "assistant", content: [], toolCalls: [{ id: "call_1_0", name: "f", arguments: "{}" }] },
    { role: "tool", content: [{ type: "text", text: "ok" }], name: "f" },
  ]);
});

describe("refused", () => {
  const user1 = { role: "user", content: "Hi" };
  testRules(parseSession, [
    [{}, "missing_field", "messages"],
    [{ messages: "Hi" }, "invalid_request", "messages", "array"],
    [{ messages: [{ role: "robot", content: "" }] }, "unsupported_value", "messages[0].role"],
    [{ messages: [{ role: "user", content: 5 }] }, "invalid_request", "messages[0].content"],
    [
      { messages: [{ role: "user", content: [{ type: "image" }] }] },
      "invalid_request",
      "messages[0].content[0]",
      "images[0]",
    ],
    [
      { messages: [{ role: "user", content: [{ type: "image" }] }], images: ["aGk="] },
      "invalid_request",
      "images[0]",
      "PNG, JPEG, GIF, BMP, WebP, AVIF, HEIC or TIFF",
    ],
    [
      { messages: [{ role: "user", content: [{ type: "video" }] }] },
      "unsupported_value",
      "messages[0].content[0].type",
    ],
    [{ messages: [user1], version: 2 }, "unsupported_value", "version", "1"],
    [{ messages: [user1], images: ["aGk="] }, "invalid_request", "images", "0 parts"],
    [{ messages: [user1], videos: [{}] }, "unsupported_capability", "videos"],
    [{ messages: [user1], files: [{}] }, "missing_field", "files[0].id"],
    [{ messages: [user1], files: [file({ id: "../x" })] }, "invalid_request", "files[0].id"],
    [{ messages: [user1], files: [file({ data_base64: "%" })] }, "invalid_request", "files[0].data_base64"],
  ]);
});
