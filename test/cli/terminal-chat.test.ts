// The terminal chat over pretended streams and a pretended model.

import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { terminalChat, thinkingOf, type TerminalChatOptions } from "../../src/cli/terminal-chat.ts";
import type { AnswerEvent, Conversation, Converse, Decision } from "../../src/core/agent.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { RunEvent, Thinking } from "../../src/core/run.ts";
import { png, wav } from "../helpers/media-bytes.ts";
import { tempDir } from "../helpers/tmp.ts";

/** Collects what is written, and lets a test wait for words to appear. */
class Screen extends Writable {
  text = "";
  private waiting: { readonly words: string; readonly resolve: () => void }[] = [];

  override _write(chunk: Buffer | string, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    this.waiting = this.waiting.filter(({ words, resolve }) => {
      if (!this.text.includes(words)) return true;
      resolve();
      return false;
    });
    done();
  }

  /** Resolves once `words` have been written since the last call. */
  async until(words: string): Promise<void> {
    if (!this.text.includes(words)) {
      await new Promise<void>((resolve) => this.waiting.push({ words, resolve }));
    }
    this.text = this.text.slice(this.text.indexOf(words) + words.length);
  }
}

const DONE: readonly RunEvent[] = [
  { type: "choice_end", choice: 0, reason: "stop" },
  {
    type: "finish",
    usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1, reasoningTokens: 0 },
    timings: { promptSecs: 0, completionSecs: 0 },
  },
];

/** Answers with the given events and keeps the requests. */
function fake(events: (request: Conversation) => readonly AnswerEvent[]) {
  const requests: Conversation[] = [];
  const converse: Converse = async function* (request) {
    await Promise.resolve();
    requests.push(request);
    yield { type: "accepted", promptTokens: 1 };
    yield* events(request);
  };
  return { converse, requests };
}

function say(text: string): readonly RunEvent[] {
  return [{ type: "text", choice: 0, text }, ...DONE];
}

const EDITED: AnswerEvent = {
  type: "context_edited",
  edits: [
    {
      type: "compaction",
      summary: "FACT 1",
      replaced: 7,
      kept: [],
      tokens: 1200,
      spent: { promptTokens: 850, cachedTokens: 0, completionTokens: 50 },
    },
    { type: "clear_thinking", turns: 1, tokens: 5 },
  ],
};

/** The conversation of a request, one line a message. */
function transcript(request: Conversation | undefined): readonly string[] {
  return (request?.run.prompt.messages ?? []).map(({ role, content }) => {
    const parts = content.map((part) =>
      part.type === "text" ? part.text : part.type === "file" ? `[${part.param}]` : `[${part.type}]`,
    );
    return `${role}: ${parts.join("")}`;
  });
}

function once(options: Partial<TerminalChatOptions> & Pick<TerminalChatOptions, "converse">) {
  const output = new Screen();
  const errorOutput = new Screen();
  const code = terminalChat({
    model: "m",
    input: Readable.from([]),
    output,
    errorOutput,
    isTty: false,
    ...options,
  });
  return code.then((exit) => ({ exit, out: output.text, err: errorOutput.text }));
}

describe("one shot", () => {
  test("a given prompt: the answer alone, with a line end", async () => {
    const { converse, requests } = fake(() => [{ type: "reasoning", choice: 0, text: "hm" }, ...say("four")]);
    expect(await once({ converse, prompt: "2+2?" })).toEqual({ exit: 0, out: "four\n", err: "" });
    expect(transcript(requests[0])).toEqual(["user: 2+2?"]);
    expect(requests[0]?.run).toMatchObject({ model: "m", choices: 1, stop: [] });
    expect(requests[0]?.agent.interactive).toBe(false);
  });

  test("what was done to the prompt is told beside the answer", async () => {
    const { converse, requests } = fake(() => [EDITED, ...say("four")]);
    const cards = [{ id: "m", preset: { compact_at: 0.6 } }];
    const err =
      "svc: a summary stands for the oldest 7 messages: 1,200 tokens less; writing it took 900\n" +
      "svc: reasoning of 1 turn left out: 5 tokens less\n";
    expect(await once({ converse, cards, prompt: "2+2?" })).toEqual({ exit: 0, out: "four\n", err });
    expect(requests[0]?.agent.edits).toEqual({ compact: { share: 0.6 } });
  });

  test("the defaults of a model or an alias apply where the person has said nothing", async () => {
    const { converse, requests } = fake(() => say("arr"));
    const preset = {
      temperature: 0.25,
      min_p: 0.05,
      max_tokens: 9,
      stop: ["END"],
      system: "You are a pirate.",
      thinking: false,
    };
    const cards = [{ id: "m" }, { id: "pirate", target: "m", preset }];
    await once({ converse, cards, model: "pirate", prompt: "Hi" });
    await once({ converse, cards, model: "pirate", prompt: "Hi", choices: { thinking: { enabled: true } } });
    await once({ converse, cards, prompt: "Hi" });
    const [own, chosen, plain] = requests.map(({ run }) => run);
    expect(transcript(requests[0])).toEqual(["system: You are a pirate.", "user: Hi"]);
    expect(own).toMatchObject({ model: "m", maxTokens: 9, stop: ["END"] });
    expect(own?.sampling).toMatchObject({ temperature: 0.25, minP: 0.05, topK: 0 });
    expect([own, chosen, plain].map((run) => run?.prompt.thinking.enabled)).toEqual([false, true, true]);
    expect([plain?.sampling.temperature, plain?.maxTokens]).toEqual([1, undefined]);
  });

  test("piped input is the prompt, also when a letter is cut in two", async () => {
    const bytes = Buffer.from("grüß dich");
    const { converse, requests } = fake(() => say("hallo\n"));
    const input = Readable.from([bytes.subarray(0, 3), bytes.subarray(3)]);
    expect(await once({ converse, input })).toEqual({ exit: 0, out: "hallo\n", err: "" });
    expect(transcript(requests[0])).toEqual(["user: grüß dich"]);
  });

  test("a failure goes to the error stream and the exit code", async () => {
    const { converse } = fake(() => [
      { type: "text", choice: 0, text: "half" },
      { type: "error", error: { code: "engine_failed", message: "the \u001B[2Jengine ended" } },
    ]);
    expect(await once({ converse, prompt: "x" })).toEqual({
      exit: 1,
      out: "half\n",
      err: "svc: the [2Jengine ended\n", // may be a terminal where the output is none
    });
  });

  test("an image and a recording go with the question", async () => {
    const { converse, requests } = fake(() => say("a cat"));
    const folder = tempDir();
    writeFileSync(join(folder, "cat.png"), png());
    writeFileSync(join(folder, "meow.wav"), wav());
    const files = [
      { kind: "image", path: join(folder, "cat.png") },
      { kind: "audio", path: join(folder, "meow.wav") },
    ] as const;
    expect(await once({ converse, prompt: "what?", files })).toMatchObject({ exit: 0, out: "a cat\n" });
    expect(requests[0]?.run.prompt.messages[0]?.content).toEqual([
      {
        type: "media",
        modality: "image",
        source: { type: "inline", data: png().toBase64() },
        param: "cat.png",
      },
      {
        type: "media",
        modality: "audio",
        source: { type: "inline", data: wav().toBase64() },
        param: "meow.wav",
      },
      { type: "text", text: "what?" },
    ]);
  });

  test("what is no image is not even asked about", async () => {
    const { converse, requests } = fake(() => say("?"));
    const { exit, err } = await once({
      converse,
      prompt: "what?",
      files: [{ kind: "image", path: import.meta.path }],
    });
    expect(exit).toBe(2);
    expect(err).toContain("terminal-chat.test.ts must be an image");
    expect(err).toContain("send PNG, JPEG, GIF, BMP, WebP, AVIF, HEIC or TIFF");
    expect(requests).toEqual([]);
  });

  test("nothing to answer is a usage error", async () => {
    const { converse, requests } = fake(() => say("?"));
    expect((await once({ converse, input: Readable.from([" \n"]) })).exit).toBe(2);
    expect(requests).toEqual([]);
  });

  test("choices of the command line win over the model's defaults", async () => {
    const { converse, requests } = fake(() => say("ok"));
    const cards = [{ id: "m", preset: { temperature: 0.9, top_k: 3, max_tokens: 9, system: "Long." } }];
    const choices = { sampling: { temperature: 0 }, maxTokens: 5, system: "Short." };
    await once({ converse, cards, prompt: "x", choices });
    expect(requests[0]?.run).toMatchObject({ maxTokens: 5, sampling: { temperature: 0, topK: 3 } });
    expect(transcript(requests[0])).toEqual(["system: Short.", "user: x"]);
  });

  test("the thinking setting reaches the request", async () => {
    const { converse, requests } = fake(() => say("ok"));
    await once({ converse, prompt: "x", choices: { thinking: { enabled: false } } });
    expect(requests[0]?.run.prompt).toMatchObject({ thinking: { enabled: false } });
  });
});

test.each<[Parameters<typeof thinkingOf>[0], Thinking | undefined]>([
  [{}, undefined],
  [{ thinking: true }, { enabled: true }],
  [{ reasoning_effort: "high" }, { enabled: true, effort: "high" }],
  [{ reasoning_effort: "off" }, { enabled: false }],
  [{ thinking: false }, { enabled: false }],
])("settings %p mean thinking %p", (settings, thinking) => {
  expect(thinkingOf(settings)).toEqual(thinking);
});

/** An open chat on a pretended terminal. */
function open(converse: Converse, options: Partial<TerminalChatOptions> = {}) {
  const input = new PassThrough();
  const screen = new Screen();
  const exit = terminalChat({ converse, model: "m", input, output: screen, isTty: true, ...options });
  return { screen, exit, type: (text: string) => input.write(text), input };
}

/** Keys, and the words that appear one after the other before the next keys are typed. */
type Step = readonly [keys: string, ...shown: string[]];

/** Types into a chat until it has ended. */
async function talkToTheEnd({ screen, exit, type }: ReturnType<typeof open>, steps: readonly Step[]) {
  await screen.until("> ");
  for (const [keys, ...shown] of steps) {
    type(keys);
    for (const words of shown) await screen.until(words);
  }
  expect(await exit).toBe(0);
}

/** The same, with `/exit` as the last words. */
function talk(chat: ReturnType<typeof open>, steps: readonly Step[]): Promise<void> {
  return talkToTheEnd(chat, [...steps, ["/exit\r"]]);
}

describe("interactive", () => {
  test("remembers, takes a system prompt, forgets", async () => {
    const { converse, requests } = fake((request) => say(`answer ${transcript(request).length}`));
    await talkToTheEnd(open(converse), [
      ["one\r", "answer 1"],
      ["/system be brief\r", "system prompt is set"],
      ["two\r", "answer 4"],
      ["/clear\r", "cleared"],
      ["three\r", "answer 2"],
      ["/system\r/exit\r"],
    ]);
    expect(requests.map(transcript)).toEqual([
      ["user: one"],
      ["system: be brief", "user: one", "assistant: answer 1", "user: two"],
      ["system: be brief", "user: three"],
    ]);
  });

  test("dims reasoning, and lets no model steer the terminal", async () => {
    const { converse } = fake(() => [
      { type: "reasoning", choice: 0, text: "hm" },
      ...say("a\x1b[31mb\x07c"),
    ]);
    await talk(open(converse), [["x\r", "\x1b[2mhm\x1b[0m\na[31mbc\n"]]);
  });

  test("Ctrl-C stops the answer, keeps what was said, and stays", async () => {
    const requests: Conversation[] = [];
    const converse: Converse = async function* (request, signal) {
      requests.push(request);
      yield { type: "text", choice: 0, text: "begun" };
      if (requests.length > 1) return;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    };
    await talk(open(converse), [
      ["one\r", "begun"],
      ["\x03", "> "],
      ["two\r", "begun"],
    ]);
    expect(transcript(requests[1])).toEqual(["user: one", "assistant: begun", "user: two"]);
  });

  test("Ctrl-C twice at an empty prompt leaves; with text on the line it only empties it", async () => {
    const { converse, requests } = fake(() => say("never"));
    await talkToTheEnd(open(converse), [["half a line\x03", "> "], ["\x03", "Ctrl-C again"], ["\x03"]]);
    expect(requests).toEqual([]);
  });

  test("Ctrl-D leaves, a failure does not, and its question is on the line again", async () => {
    const { converse, requests } = fake(({ run: { prompt } }) =>
      JSON.stringify(prompt).includes("bad")
        ? [{ type: "error", error: { code: "queue_full", message: "try later" } }]
        : say("fine"),
    );
    await talkToTheEnd(open(converse), [
      ["bad\r", "svc: try later", "bad"],
      ["\x15good\r", "fine"],
      ["\x04"],
    ]);
    expect(transcript(requests[1])).toEqual(["user: good"]);
  });

  test("/help lists the commands, and an unknown one points to it", async () => {
    await talkToTheEnd(open(fake(() => []).converse), [
      ["/help\r", "/system TEXT"],
      ["/hlep\r", "/hlep is not a command; /help lists them."],
      ["/quit\r"],
    ]);
  });

  test("a backslash goes on in the next line; pasted lines are one question", async () => {
    const { converse, requests } = fake(() => say("ok"));
    await talk(open(converse), [
      ["one\\\r", "… "],
      ["two\r", "ok"],
      ["\x1b[200~three\rfour\r\x1b[201~"],
      ["\r", "ok"],
    ]);
    expect(requests.map((request) => transcript(request).at(-1))).toEqual([
      "user: one\ntwo",
      "user: three\nfour",
    ]);
  });

  test("what is typed during an answer waits for the prompt", async () => {
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const questions: (string | undefined)[] = [];
    const converse: Converse = async function* (request) {
      questions.push(transcript(request).at(-1));
      yield { type: "text", choice: 0, text: "be" };
      begun.resolve();
      await goOn.promise;
      yield { type: "text", choice: 0, text: "gun" };
      yield* DONE;
    };
    const { screen, exit, type } = open(converse);
    await screen.until("> ");
    type("one\r");
    await begun.promise;
    type("two\r");
    type("/exit\r");
    goOn.resolve();
    await screen.until("begun\n");
    expect(await exit).toBe(0);
    expect(questions).toEqual(["user: one", "user: two"]);
  });

  test("Markdown gets looks, or stays as it is without colours; the cost of an answer follows", async () => {
    const { converse } = fake(() => say("**so**"));
    for (const [colors, shown] of [
      [true, "\x1b[1mso\x1b[0m\n\x1b[2m1 token · first after"],
      [false, "**so**\n1 token · first after"],
    ] as const) {
      await talk(open(converse, { colors }), [
        ["x\r", shown],
        ["/stats\r", "1 answer     1 token"],
      ]);
    }
  });

  test("/retry answers the last question again; when that fails the old answer stays", async () => {
    let count = 0;
    const { converse, requests } = fake(() =>
      ++count === 3
        ? [{ type: "error", error: { code: "queue_full", message: "try later" } }]
        : say(`answer ${count}`),
    );
    await talk(open(converse), [
      ["/retry\r", "No question yet."],
      ["one\r", "answer 1"],
      ["/retry\r", "answer 2"],
      ["/retry\r", "svc: try later"],
      ["two\r", "answer 4"],
    ]);
    expect(requests.map(transcript)).toEqual([
      ["user: one"],
      ["user: one"],
      ["user: one"],
      ["user: one", "assistant: answer 2", "user: two"],
    ]);
  });

  test("a refused question keeps its image until /detach", async () => {
    const path = join(tempDir(), "cat.png");
    writeFileSync(path, png());
    const { converse, requests } = fake(({ run }) => {
      const isSeen = run.prompt.messages.some(({ content }) => content.some(({ type }) => type === "media"));
      if (!isSeen) return say("ok");
      throw new ServiceError(
        "unsupported_capability",
        "cat.png is an image, but the model does not accept images",
      );
    });
    await talk(open(converse), [
      [`/image ${path}\r`, "cat.png is attached to your next question."],
      [
        "what?\r",
        "svc: cat.png is an image, but the model does not accept images",
        "drop the files with /detach",
        "what?",
      ],
      ["\x15/detach\r", "Nothing is attached."],
      ["two\r", "ok"],
    ]);
    expect(transcript(requests.at(-1))).toEqual(["user: two"]);
  });

  test("a file whose question failed goes with the next one", async () => {
    let count = 0;
    const { converse, requests } = fake(() =>
      ++count === 1 ? [{ type: "error", error: { code: "queue_full", message: "try later" } }] : say("ok"),
    );
    await talk(open(converse, { files: [{ kind: "file", path: import.meta.path }] }), [
      ["one\r", "one"],
      ["\x15two\r", "ok"],
    ]);
    const name = "[terminal-chat.test.ts]";
    expect(requests.map(transcript)).toEqual([[`user: ${name}one`], [`user: ${name}two`]]);
  });

  test("/edit brings a question of several lines back whole, as history does; /copy copies the answer", async () => {
    const historyFile = join(folder, "edited");
    const { converse, requests } = fake(() => say("ok"));
    await talk(open(converse, { historyFile }), [
      ["one\\\r", "… "],
      ["two\r", "ok"],
      ["/edit\r", "one␤two"],
      [" three\r", "ok"],
      ["/copy\r", "\x1b]52;c;b2s=\x07"],
      ["\x1b[A\x1b[A\r", "ok"],
    ]);
    expect(requests.map((request) => transcript(request).at(-1))).toEqual([
      "user: one\ntwo",
      "user: one\ntwo three",
      "user: one\ntwo three",
    ]);
    expect(readFileSync(historyFile, "utf8")).toContain("one␤two\n/edit\n");
  });

  test("lines are remembered from chat to chat, answers to questions of tools are not", async () => {
    const historyFile = join(folder, "history");
    const { converse } = fake(() => [APPROVAL, ...say("ok")]);
    const first = open(converse, { historyFile });
    await first.screen.until("> ");
    first.type("remember me\r");
    await first.screen.until("in this conversation: ");
    first.type("yes\r");
    await first.screen.until("ok");
    first.type("/exit\r");
    await first.exit;
    expect(readFileSync(historyFile, "utf8")).toBe("remember me\n/exit\n");

    const second = open(fake(() => say("ok")).converse, { historyFile });
    await second.screen.until("> ");
    second.type("\x1b[A\x1b[A");
    await second.screen.until("remember me");
    second.type("\x03");
    second.type("/exit\r");
    expect(await second.exit).toBe(0);
  });
});

const folder = tempDir();

const APPROVAL: AnswerEvent = {
  type: "approval_required",
  approvalId: "appr_1",
  sessionId: "sess_1",
  round: 1,
  tool: { source: "built-in", kind: "shell", label: "Run shell\ncommands" },
  arguments: { commands: ["rm -rf \x1b[2Jhouse # \u202eflah\u200b"] },
};

describe("tools", () => {
  const call = { round: 1, callId: "c", toolName: "shell", arguments: "{}" };
  const EVENTS: readonly AnswerEvent[] = [
    { type: "session", sessionId: "sess_1" },
    { type: "text", choice: 0, text: "I look." },
    { type: "tool_calling", ...call, data: { tool_type: "shell", commands: ["ls"] } },
    {
      type: "tool_complete",
      ...call,
      data: { tool_type: "shell", stdout: "a.txt\n", stderr: "\x1b[31moh", exit_code: 2 },
      resultContent: "",
      images: [],
      fileIds: [],
    },
    {
      type: "file_produced",
      file: {
        id: "f",
        name: "../made.txt",
        bytes: 4,
        created_at: 0,
        purpose: "agent_output",
        source: { tool: "shell", round: 1, turn: 0 },
        text: "made",
      },
    },
    ...say("There."),
  ];

  test("what they do is shown between the words, and their files can be fetched", async () => {
    await talk(open(fake(() => EVENTS).converse, { colors: false }), [
      [
        "x\r",
        "I look.\n● shell\n  $ ls\n  a.txt\n  [31moh\n  (exit code 2)\n● created ../made.txt (4 bytes)",
        "There.\n",
      ],
      ["/get\r", "Files so far: ../made.txt."],
    ]);
  });

  test("a script gets the words alone", async () => {
    const { out } = await once({ converse: fake(() => EVENTS).converse, prompt: "x" });
    expect(out).toBe("I look.There.\n");
  });

  test.each<[string, Decision]>([
    ["y", { approved: true, remember: false }],
    ["always", { approved: true, remember: true }],
    ["n", { approved: false }],
    ["", { approved: false }],
  ])("an approval answered with %j", async (keys, decision) => {
    const decisions: unknown[] = [];
    const { converse, requests } = fake(() => [APPROVAL, ...say("done")]);
    const { screen, exit, type } = open(converse, {
      colors: false,
      answerApproval: (id, given) => {
        decisions.push([id, given]);
        return "resolved";
      },
    });
    await screen.until("> ");
    type("x\r");
    await screen.until("● Run shell commands (sess_1)\n  rm -rf ⟨U+001B⟩[2Jhouse # ⟨U+202E⟩flah⟨U+200B⟩\n");
    await screen.until("in this conversation: ");
    type("what?\r");
    await screen.until("in this conversation: "); // it asks again
    type(`${keys}\r`);
    await screen.until("done");
    type("/exit\r");
    expect(await exit).toBe(0);
    expect(decisions).toEqual([["appr_1", decision]]);
    expect(requests[0]?.agent.interactive).toBe(true);
  });

  test("what was typed before an approval does not answer it, and Ctrl-C means no", async () => {
    const decisions: unknown[] = [];
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const seen: (string | undefined)[] = [];
    const converse: Converse = async function* (request, signal) {
      seen.push(transcript(request).at(-1));
      yield { type: "text", choice: 0, text: "begun" };
      if (seen.length > 1) return yield* DONE;
      begun.resolve();
      await goOn.promise;
      yield APPROVAL;
      if (!signal.aborted) throw new Error("must be stopped");
    };
    const { screen, exit, type } = open(converse, {
      answerApproval: (_, given) => {
        decisions.push(given);
        return "resolved";
      },
    });
    await screen.until("> ");
    type("one\r");
    await begun.promise;
    type("y\ralw");
    goOn.resolve();
    await screen.until("in this conversation: ");
    type("\x03");
    await screen.until("begun"); // the answer to "y", a question that had to wait
    await screen.until("> alw");
    type("\x03/exit\r");
    expect(await exit).toBe(0);
    expect(decisions).toEqual([{ approved: false }]);
    expect(seen).toEqual(["user: one", "user: y"]);
  });
});
