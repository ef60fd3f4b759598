// The terminal chat over pretended streams and a pretended model.

import { describe, expect, test } from "bun:test";
import { PassThrough, Readable, Writable } from "node:stream";
import { terminalChat, thinkingOf, type TerminalChatOptions } from "../../src/cli/terminal-chat.ts";
import { messageText } from "../../src/core/message.ts";
import type { Generate, RunEvent, RunRequest, Thinking } from "../../src/core/run.ts";

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
function fake(events: (request: RunRequest) => readonly RunEvent[]) {
  const requests: RunRequest[] = [];
  const generate: Generate = async function* (request) {
    await Promise.resolve();
    requests.push(request);
    yield { type: "accepted", promptTokens: 1 };
    yield* events(request);
  };
  return { generate, requests };
}

function say(text: string): readonly RunEvent[] {
  return [{ type: "text", choice: 0, text }, ...DONE];
}

/** The conversation of a request, one line a message. */
function transcript(request: RunRequest | undefined): readonly string[] {
  if (request?.prompt.type !== "chat") return [];
  return request.prompt.messages.map((message) => `${message.role}: ${messageText(message)}`);
}

function once(options: Partial<TerminalChatOptions> & Pick<TerminalChatOptions, "generate">) {
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
    const { generate, requests } = fake(() => [{ type: "reasoning", choice: 0, text: "hm" }, ...say("four")]);
    expect(await once({ generate, prompt: "2+2?" })).toEqual({ exit: 0, out: "four\n", err: "" });
    expect(transcript(requests[0])).toEqual(["user: 2+2?"]);
    expect(requests[0]).toMatchObject({ model: "m", choices: 1, stop: [] });
  });

  test("piped input is the prompt, also when a letter is cut in two", async () => {
    const bytes = Buffer.from("grüß dich");
    const { generate, requests } = fake(() => say("hallo\n"));
    const input = Readable.from([bytes.subarray(0, 3), bytes.subarray(3)]);
    expect(await once({ generate, input })).toEqual({ exit: 0, out: "hallo\n", err: "" });
    expect(transcript(requests[0])).toEqual(["user: grüß dich"]);
  });

  test("a failure goes to the error stream and the exit code", async () => {
    const { generate } = fake(() => [
      { type: "text", choice: 0, text: "half" },
      { type: "error", error: { code: "engine_failed", message: "the engine ended" } },
    ]);
    expect(await once({ generate, prompt: "x" })).toEqual({
      exit: 1,
      out: "half\n",
      err: "svc: the engine ended\n",
    });
  });

  test("nothing to answer is a usage error", async () => {
    const { generate, requests } = fake(() => say("?"));
    expect((await once({ generate, input: Readable.from([" \n"]) })).exit).toBe(2);
    expect(requests).toEqual([]);
  });

  test("the thinking setting reaches the request", async () => {
    const { generate, requests } = fake(() => say("ok"));
    await once({ generate, prompt: "x", thinking: { enabled: false } });
    expect(requests[0]?.prompt).toMatchObject({ thinking: { enabled: false } });
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
function open(generate: Generate) {
  const input = new PassThrough();
  const screen = new Screen();
  const exit = terminalChat({ generate, model: "m", input, output: screen, isTty: true });
  return { screen, exit, type: (text: string) => input.write(text), input };
}

describe("interactive", () => {
  test("remembers, takes a system prompt, forgets", async () => {
    const { generate, requests } = fake((request) => say(`answer ${transcript(request).length}`));
    const { screen, exit, type } = open(generate);
    await screen.until("> ");
    type("one\r");
    await screen.until("answer 1");
    type("/system be brief\r");
    await screen.until("system prompt is set");
    type("two\r");
    await screen.until("answer 4");
    type("/clear\r");
    await screen.until("forgotten");
    type("three\r");
    await screen.until("answer 2");
    type("/system\r/exit\r");
    expect(await exit).toBe(0);
    expect(requests.map(transcript)).toEqual([
      ["user: one"],
      ["system: be brief", "user: one", "assistant: answer 1", "user: two"],
      ["system: be brief", "user: three"],
    ]);
  });

  test("dims reasoning, and lets no model steer the terminal", async () => {
    const { generate } = fake(() => [
      { type: "reasoning", choice: 0, text: "hm" },
      ...say("a\x1b[31mb\x07c"),
    ]);
    const { screen, exit, type } = open(generate);
    await screen.until("> ");
    type("x\r");
    await screen.until("\x1b[2mhm\x1b[0m\na[31mbc\n");
    type("/exit\r");
    expect(await exit).toBe(0);
  });

  test("Ctrl-C stops the answer, keeps what was said, and stays", async () => {
    const requests: RunRequest[] = [];
    const generate: Generate = async function* (request, signal) {
      requests.push(request);
      yield { type: "text", choice: 0, text: "begun" };
      if (requests.length > 1) return;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    };
    const { screen, exit, type } = open(generate);
    await screen.until("> ");
    type("one\r");
    await screen.until("begun");
    type("\x03");
    await screen.until("> ");
    type("two\r");
    await screen.until("begun");
    type("/exit\r");
    expect(await exit).toBe(0);
    expect(transcript(requests[1])).toEqual(["user: one", "assistant: begun", "user: two"]);
  });

  test("Ctrl-C twice at an empty prompt leaves; with text on the line it only empties it", async () => {
    const { generate, requests } = fake(() => say("never"));
    const { screen, exit, type } = open(generate);
    await screen.until("> ");
    type("half a line\x03");
    await screen.until("> ");
    type("\x03");
    await screen.until("Ctrl-C again");
    type("\x03");
    expect(await exit).toBe(0);
    expect(requests).toEqual([]);
  });

  test("Ctrl-D leaves, a failure does not, and its question is forgotten", async () => {
    const { generate, requests } = fake(({ prompt }) =>
      JSON.stringify(prompt).includes("bad")
        ? [{ type: "error", error: { code: "queue_full", message: "try later" } }]
        : say("fine"),
    );
    const { screen, exit, type } = open(generate);
    await screen.until("> ");
    type("bad\r");
    await screen.until("svc: try later");
    type("good\r");
    await screen.until("fine");
    type("\x04");
    expect(await exit).toBe(0);
    expect(transcript(requests[1])).toEqual(["user: good"]);
  });

  test("/help lists the commands, and an unknown one points to it", async () => {
    const { screen, exit, type } = open(fake(() => []).generate);
    await screen.until("> ");
    type("/help\r");
    await screen.until("/system TEXT");
    type("/hlep\r");
    await screen.until("/hlep is not a command; /help lists them.");
    type("/quit\r");
    expect(await exit).toBe(0);
  });
});
