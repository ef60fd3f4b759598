// Slash commands on the state of a chat.

import { beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CommandContext, commandWords, runCommand } from "../../../src/cli/chat/commands.ts";
import { ChatState } from "../../../src/cli/chat/conversation.ts";
import { ChatStats } from "../../../src/cli/chat/stats.ts";
import { parseChatRequest } from "../../../src/dialects/chat/request.ts";
import { png, wav } from "../../helpers/media-bytes.ts";
import { tempDir } from "../../helpers/tmp.ts";

const root = tempDir();
const temporaryFolder = (): string => mkdtempSync(join(root, "x-"));

let context: CommandContext;
beforeEach(() => {
  const state = new ChatState({ id: "one" }, { thinking: { enabled: true } });
  context = {
    state,
    stats: new ChatStats(),
    cards: [{ id: "one", contextTokens: 4096 }, { id: "two" }],
    made: new Map(),
  };
});

const run = (line: string): string => runCommand(line, context).text;

test.each([
  ["/temperature", "The temperature is 1."],
  ["/temperature 0.5", "The temperature is 0.5."],
  ["/temperature 3", "/temperature: N must be from 0 to 2"],
  ["/temperature hot", "/temperature: N must be from 0 to 2"],
  ["/topk 40", "top-k is 40."],
  ["/topk 0", "top-k is off."],
  ["/topk 1.5", "/topk: N must be whole, 0 or more"],
  ["/topp 0.9", "top-p is 0.9."],
  ["/topp 0", "/topp: N must be above 0, at most 1"],
  ["/think", "Thinking is on."],
  ["/think off", "Thinking is off."],
  ["/think high", "Thinking is high."],
  ["/think hard", "/think: LEVEL must be on, off, low, medium, high, xhigh"],
  ["/model", "* one\n  two"],
  ["/model two", "The model is two."],
  ["/model three", "No model three. Models: one, two. Start svc with -m to add one."],
  ["/image cat.png", "/image: no such file: cat.png"],
  ["/audio a.wav", "/audio: no such file: a.wav"],
  ["/file", "Nothing is attached; /file PATH attaches one."],
  ["/file no-such-file", "/file: no such file: no-such-file"],
  ["/save", "/save: name a FILE"],
  ["/get x", "No tool has created a file yet."],
  ["/stats", "No answer yet."],
  ["/context", "0 of 4096 tokens (0 %). /clear empties it."],
  ["/edit", "No question yet."],
  ["/copy", "No answer yet."],
  ["/detach", "Nothing is attached."],
  ["/nothing", "/nothing is not a command; /help lists them."],
])("%s", (line, words) => {
  expect(run(line)).toBe(`${words}\n`);
});

test("settings reach the next request", () => {
  for (const line of [
    "/temperature 0.2",
    "/topk 5",
    "/topp 0.8",
    "/think off",
    "/model two",
    "/system Be brief.",
  ])
    run(line);
  const { state } = context;
  const { run: request } = state.request(state.question("Hi"), {}, true);
  expect(request).toMatchObject({
    model: "two",
    sampling: { temperature: 0.2, topK: 5, topP: 0.8 },
    prompt: { thinking: { enabled: false }, messages: [{ role: "system" }, { role: "user" }] },
  });
});

test("asking for a value sets none", () => {
  for (const line of ["/temperature", "/topk", "/topp", "/think"]) run(line);
  expect(context.state.chosen).toEqual({});
});

test("a file goes with the next question alone", () => {
  const file = join(temporaryFolder(), "my notes.txt");
  writeFileSync(file, "remember the milk");
  expect(run(`/file "${file}"`)).toBe("my notes.txt is attached to your next question.\n");
  expect(run("/file")).toBe("Attached: my notes.txt.\n");
  const { state } = context;
  expect(state.question("What?").content).toEqual([
    {
      type: "file",
      source: { type: "inline", data: btoa("remember the milk"), filename: "my notes.txt" },
      param: "my notes.txt",
    },
    { type: "text", text: "What?" },
  ]);
  expect(state.question("And?").content).toHaveLength(1);
});

describe("a saved chat", () => {
  test("is a chat completions request, private, and comes back as it was", () => {
    const file = join(temporaryFolder(), "chat.json");
    const note = join(temporaryFolder(), "note.txt");
    writeFileSync(note, "x");
    run("/system Be brief.");
    run(`/file ${note}`);
    context.state.remember(context.state.question("Hi"), "Hello");
    const { messages } = context.state;
    expect(run(`/save ${file}`)).toBe(`2 messages are saved in ${file}.\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { run: request } = parseChatRequest(JSON.parse(readFileSync(file, "utf8")));
    expect(request.prompt.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant"]);
    expect(run(`/save ${file}`)).toBe(`/save: ${file} exists already; choose another name\n`);
    run("/clear");
    run("/system");
    expect(run(`/load ${file}`)).toBe("2 messages, and a system prompt, are loaded.\n");
    expect(context.state.messages).toEqual(messages);
    expect(context.state.system).toBe("Be brief.");
  });

  test("keeps images, recordings and videos in the words of the dialect", () => {
    const file = join(temporaryFolder(), "chat.json");
    const folder = temporaryFolder();
    writeFileSync(join(folder, "a.png"), png());
    writeFileSync(join(folder, "b.wav"), wav());
    writeFileSync(join(folder, "c.avi"), "RIFF----AVI ");
    run(`/image ${join(folder, "a.png")}`);
    run(`/audio ${join(folder, "b.wav")}`);
    run(`/video ${join(folder, "c.avi")}`);
    context.state.remember(context.state.question("What?"), "A cat.");
    run(`/save ${file}`);
    const body = JSON.parse(readFileSync(file, "utf8"));
    expect(body.messages[0].content).toEqual([
      { type: "image_url", image_url: { url: `data:image/png;base64,${png().toBase64()}` } },
      { type: "input_audio", input_audio: { data: wav().toBase64(), format: "wav" } },
      { type: "input_video", input_video: { data: btoa("RIFF----AVI ") } },
      { type: "text", text: "What?" },
    ]);
    expect(parseChatRequest(body).run.prompt.messages).toHaveLength(2);
    const [before] = context.state.messages;
    run(`/load ${file}`);
    const [after] = context.state.messages;
    expect(after?.content.map((part) => (part.type === "media" ? part.source : part))).toEqual(
      before?.content.map((part) => (part.type === "media" ? part.source : part)) ?? [],
    );
  });

  test.each([
    ["no json", "not JSON"],
    ["[]", '"messages" is missing'],
    ['{"messages":[{"role":"tool","content":""}]}', "role must be user, assistant or system"],
    ['{"messages":[{"role":"user"}]}', "content must be a text or a list of parts"],
    [
      '{"messages":[{"role":"user","content":[{"type":"image"}]}]}',
      "must be text, an image, audio, a video, or a file with file_data",
    ],
  ])("%s is none, and changes nothing", (text, words) => {
    const file = join(temporaryFolder(), "chat.json");
    writeFileSync(file, text);
    context.state.remember(context.state.question("Hi"), "Hello");
    expect(run(`/load ${file}`)).toContain(words);
    expect(context.state.messages).toHaveLength(2);
  });
});

test("a question is taken back with its answer", () => {
  const { state } = context;
  state.remember(state.question("one"), "1");
  state.remember(state.question("two"), "2");
  expect(state.takeBack()?.content).toEqual([{ type: "text", text: "two" }]);
  expect(state.messages).toHaveLength(2);
});

test("/help has every command; completion knows them, models, levels and paths", () => {
  const help = run("/help");
  const words = commandWords("/", ["one"]);
  if (words === "path") throw new Error("must be commands");
  expect(words.length).toBeGreaterThan(14);
  for (const word of words) expect(help).toContain(`${word} `);
  expect(commandWords("/te", [])).toEqual(["/temperature"]);
  expect(commandWords("/model o", ["one", "two"])).toEqual(["one"]);
  expect(commandWords("/think l", [])).toEqual(["low"]);
  expect(commandWords("/file ./", [])).toBe("path");
  expect(commandWords("hello", [])).toEqual([]);
});
