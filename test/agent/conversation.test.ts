// Conversations on a server without tools: files become text, sessions are stored, unavailable capabilities are refused.

import { describe, expect, test } from "bun:test";
import { disabledToolset } from "../../src/agent/tools/disabled.ts";
import { fileToolset } from "../../src/agent/tools/files.ts";
import type { AnswerEvent, Conversation } from "../../src/core/agent.ts";
import { SERVER } from "../../src/core/caller.ts";
import { type Compat, STRICT } from "../../src/core/compat.ts";
import { defined } from "../../src/core/defined.ts";
import { messageText } from "../../src/core/message.ts";
import type { RunEvent } from "../../src/core/run.ts";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import { FetchError } from "../../src/net/public-fetch.ts";
import { testLoop } from "../helpers/agent.ts";
import { chatBody, testStores } from "../helpers/app.ts";
import type { Body } from "../helpers/rules.ts";
import { ACCEPTED, answer, end, FINISH, playing, text } from "../helpers/run-events.ts";
import { calls, said, user } from "../helpers/talk.ts";
import { refusal } from "../helpers/refusal.ts";

const DISABLED = (["python", "shell", "search", "files"] as const).map(disabledToolset);
const never = new AbortController().signal;

/** A Converse over a run that is played, with what it stored and what the model was asked. */
function setUp(events: readonly RunEvent[] = answer("Hi")) {
  const { generate, requests } = playing(events);
  const stores = testStores();
  const fetched: string[] = [];
  const fetchFile = async (url: string) => {
    fetched.push(url);
    if (url.includes("gone")) throw new FetchError("its server responded with HTTP status 404");
    return { mimeType: "text/plain", pieces: [new TextEncoder().encode("far away")] };
  };
  const toolsets = [...DISABLED, fileToolset(stores.files)];
  const { converse } = testLoop({ generate, toolsets, ...stores, fetchFile });
  const ask = async (body: Body): Promise<readonly AnswerEvent[]> => {
    const { run, agent } = parseChatRequest(body);
    return Array.fromAsync(converse({ run, agent }, never, SERVER));
  };
  const askFor = (conversation: Conversation) => Array.fromAsync(converse(conversation, never, SERVER));
  const prompt = () => {
    const last = requests.at(-1)?.prompt;
    if (last?.type !== "chat") throw new Error("nothing was generated");
    return last.messages.map((message) => [message.role, messageText(message)]);
  };
  return { ...stores, ask, askFor, prompt, requests, fetched };
}

describe("a server without tools refuses unavailable capabilities", () => {
  test.each<[Body, string]>([
    [{ tools: [{ type: "code_interpreter" }] }, "tools[0]"],
    [{ web_search_options: {} }, "web_search_options"],
    [{ files: [{ name: "a.csv" }] }, "files"],
  ])("%j", async (extra, param) => {
    const { code, message, param: named } = await refusal(() => setUp().ask(chatBody(extra)));
    expect({ code, named }).toEqual({ code: "capability_disabled", named: param });
    expect(message).toContain("not enabled");
  });
});

const inline = (data: string, filename?: string) => ({
  type: "file",
  file: { file_data: data, ...defined({ filename }) },
});
const base64 = (words: string) => new TextEncoder().encode(words).toBase64();
const asking = (...parts: readonly object[]): Body => ({
  messages: [{ role: "user", content: [{ type: "text", text: "Sum it up: " }, ...parts] }],
});

describe("files in messages", () => {
  test("are listed in a system message, with a marker in their place", async () => {
    const { ask, prompt, files } = setUp();
    const stored = await files(SERVER).add(
      { name: "b.bin", purpose: "user_data", source: { tool: "user_upload", round: 0, turn: 0 } },
      [Uint8Array.of(0xff)],
    );
    const csv = inline(`data:text/csv;base64,${base64("a,b\n1,2")}`, "dir/a.csv");
    await ask(asking(csv, { type: "file", file: { file_id: stored.id } }));
    const [system, sent] = prompt();
    expect(sent).toEqual(["user", "Sum it up: [File: a.csv][File: b.bin]"]);
    expect(system?.[0]).toBe("system");
    const [a, b] = files(SERVER).list().toReversed();
    expect(system?.[1]).toContain("a.csv (text/csv, 7 bytes):\na,b\n1,2");
    expect(system?.[1]).toContain("b.bin (application/octet-stream, 1 bytes): not text");
    expect(b?.id).toBe(stored.id);
    expect(a).toMatchObject({ source: { tool: "input_file", round: 0, turn: 0 }, purpose: "user_data" });
  });

  test("are appended to the existing system message", async () => {
    const { ask, prompt } = setUp();
    const { messages } = asking(inline(base64("hello")));
    await ask({ messages: [{ role: "system", content: "Be brief." }, ...(messages as object[])] });
    const [system, ...others] = prompt();
    expect(system?.[1]).toStartWith("Be brief.\n\nThe user has attached a file.");
    expect(system?.[1]).toContain("input_file (text/plain, 5 bytes)");
    expect(others).toHaveLength(1);
  });

  test("of 33000 characters are previewed up to the request's limit", async () => {
    const { ask, prompt } = setUp();
    const long = (letter: string) => inline(base64(letter.repeat(5000)), `${letter}.txt`);
    const events = await ask(asking(..."abcdefghi".split("").map(long)));
    const text = prompt()[0]?.[1] ?? "";
    expect(text).toContain(`${"a".repeat(4096)}\n(cut after 4096 characters`);
    expect(text).toContain(`${"h".repeat(4096)}\n`);
    expect(text).not.toContain("iii");
    expect(text).toContain("i.txt");
    const [accepted, cut] = events;
    expect(accepted?.type).toBe("accepted");
    expect(cut).toMatchObject({ type: "input_cut", files: { length: 9 } });
    expect(cut?.type === "input_cut" && cut.files[8]).toEqual({ name: "i.txt", shown: 0, bytes: 5000 });
  });

  test("are shown beside a pasted text that looks like them", async () => {
    const { ask, prompt } = setUp();
    const pasted = { role: "user", content: "[File: a.txt]\nold\n[End of file]\n" };
    const { messages } = asking(inline(base64("new"), "a.txt"));
    await ask({ messages: [pasted, ...(messages as object[])] });
    expect(prompt()[0]?.[1]).toContain("new");
  });

  test("are texts of the message where clients expect it, and the prompt is the same each time", async () => {
    const { askFor, prompt, requests } = setUp();
    const clients: Compat = { ...STRICT, mode: "clients" };
    const long = `${"word ".repeat(2000)}\n[File: x]\n`;
    const { messages } = asking(
      inline(`data:text/plain;base64,${base64(long)}`, "a.txt"),
      inline("/w==", "b.bin"),
    );
    const events = await askFor(parseChatRequest({ messages }, clients));
    expect(prompt()[1]).toEqual(["user", `Sum it up: [File: a.txt]\n${long}\n[End of file]\n[File: b.bin]`]);
    expect(prompt()[0]?.[1]).not.toContain("a.txt");
    expect(events.map(({ type }) => type)).not.toContain("input_cut");
    await askFor(parseChatRequest({ messages }, clients));
    const later = [
      ...(messages as object[]),
      { role: "assistant", content: "Hi" },
      { role: "user", content: "So?" },
    ];
    await askFor(parseChatRequest({ messages: later }, clients));
    const [first, second, third] = requests.map(({ prompt: sent }) => JSON.stringify(sent));
    expect(second).toBe(first ?? "");
    expect(third).toStartWith(first?.slice(0, first.indexOf("[File: b.bin]")) ?? "");
    const last = requests.at(-1)?.prompt;
    expect(last?.type === "chat" && last.tools).toEqual([]);
  });

  test("are fetched from a URL", async () => {
    const { askFor, prompt, fetched } = setUp();
    const { run, agent } = parseChatRequest(chatBody());
    const remote = (url: string): Conversation => {
      const part = { type: "file", source: { type: "remote", url }, param: "input[0].content[0]" } as const;
      const messages = [{ role: "user", content: [part] }] as const;
      return { run: { ...run, prompt: { ...run.prompt, messages } }, agent };
    };
    await askFor(remote("https://example.com/data/my%20table.txt?x=1"));
    expect(fetched).toEqual(["https://example.com/data/my%20table.txt?x=1"]);
    expect(prompt()[0]?.[1]).toContain("my table.txt");
    expect(prompt()[0]?.[1]).toContain("far away");

    const error = await refusal(() => askFor(remote("https://example.com/gone")));
    expect<object>({ code: error.code, param: error.param }).toEqual({
      code: "invalid_request",
      param: "input[0].content[0]",
    });
    expect(error.message).toContain("status 404");
  });

  test.each([
    ["not base64", inline("%%%"), "invalid_request"],
    ["a data URL that is not base64", inline("data:text/plain,hello"), "invalid_request"],
    ["a wrong character at the end", inline(`${base64("hello")}!`), "invalid_request"],
    ["an unknown id", { type: "file", file: { file_id: "file-none" } }, "file_not_found"],
    ["too much", inline("A".repeat(90_000_000)), "payload_too_large"],
  ])("that are %s are refused by place", async (_, part, code) => {
    const { ask, requests, files } = setUp();
    const error = await refusal(() => ask(asking(part)));
    expect<object>({ code: error.code, param: error.param }).toEqual({
      code,
      param: "messages[0].content[1]",
    });
    expect(requests).toEqual([]);
    expect(files(SERVER).list()).toEqual([]);
  });

  test("can be read by a tool, unless there are several choices", async () => {
    for (const [n, names] of [
      [1, ["svc_read_file", "svc_list_files"]],
      [2, []],
    ] as const) {
      const { ask, requests, prompt } = setUp();
      const session = n === 1 ? { session_id: "s" } : {};
      await ask({ ...asking(inline(base64("hello"))), n, ...session });
      const last = requests.at(-1)?.prompt;
      expect(last?.type === "chat" && last.tools.map(({ name }) => name)).toEqual([...names]);
      expect(prompt()[0]?.[1]?.includes("svc_read_file reads them by id")).toBe(n === 1);
    }
  });

  test("at most 64 are accepted", async () => {
    const { ask } = setUp();
    const many = (count: number) => asking(...Array.from({ length: count }, () => inline(base64("x"))));
    await ask(many(64));
    expect((await refusal(() => ask(many(65)))).message).toContain("at most 64 files");
  });
});

describe("a session", () => {
  const hi = { messages: [{ role: "user", content: "Hi" }] };

  test("is named after acceptance and saved before the end", async () => {
    const { ask, sessions } = setUp([ACCEPTED, text("Hel"), text("lo"), end(), FINISH]);
    const events = await ask({ ...hi, session_id: "mine" });
    expect(events.map(({ type }) => type)).toEqual([
      "accepted",
      "session",
      "text",
      "text",
      "choice_end",
      "finish",
    ]);
    expect(events[1]).toEqual({ type: "session", sessionId: "mine" });
    expect(sessions(SERVER).get("mine")).toEqual([user("Hi"), said("Hello")]);
  });

  test("continues with the new turn only, and with the full history", async () => {
    const { ask, prompt } = setUp(answer("Hello"));
    await ask({ ...hi, session_id: "mine" });
    await ask({ messages: [{ role: "user", content: "And?" }], session_id: "mine" });
    const whole = [
      ["user", "Hi"],
      ["assistant", "Hello"],
      ["user", "And?"],
    ];
    expect(prompt()).toEqual(whole);
    const messages = [...whole, ["assistant", "Hello"], ["user", "So?"]].map(([role, content]) => ({
      role,
      content,
    }));
    await ask({ messages, session_id: "mine" });
    expect(prompt()).toEqual([...whole, ["assistant", "Hello"], ["user", "So?"]]);
  });

  test("stores reasoning and the client's calls", async () => {
    const { ask, sessions } = setUp([
      ACCEPTED,
      { type: "reasoning", choice: 0, text: "hm" },
      { type: "tool_call_start", choice: 0, index: 0, id: "call_mine", name: "mine" },
      { type: "tool_call_args", choice: 0, index: 0, delta: '{"a"' },
      { type: "tool_call_args", choice: 0, index: 0, delta: ":1}" },
      end("tool_calls"),
      FINISH,
    ]);
    await ask({ ...hi, session_id: "mine" });
    const called = { ...calls("mine", '{"a":1}'), reasoning: "hm" };
    expect(sessions(SERVER).get("mine")).toEqual([user("Hi"), called]);
  });

  test("keeps whole files in its messages", async () => {
    const { askFor, prompt, sessions } = setUp();
    const clients: Compat = { ...STRICT, mode: "clients" };
    const first = asking(inline(base64("hello"), "a.txt"));
    const turn = (body: Body) => askFor(parseChatRequest({ ...body, session_id: "mine" }, clients));
    await turn(first);
    await turn({ messages: [{ role: "user", content: "And?" }] });
    const question = ["user", "Sum it up: [File: a.txt]\nhello\n[End of file]\n"];
    expect(prompt()).toEqual([question, ["assistant", "Hi"], ["user", "And?"]]);
    const [asked] = first["messages"] as readonly object[];
    const again = [asked, { role: "assistant", content: "Hi" }, { role: "user", content: "And?" }];
    await turn({
      messages: [...again, { role: "assistant", content: "Hi" }, { role: "user", content: "So?" }],
    });
    expect(prompt().filter((message) => message[1] === question[1])).toHaveLength(1);
    expect(sessions(SERVER).get("mine")).toHaveLength(6);
  });

  test("keeps its files: listed in later turns, and stored once if resent", async () => {
    const { ask, prompt, files, sessions } = setUp();
    const first = asking(inline(base64("hello"), "a.txt"));
    await ask({ ...first, session_id: "mine" });
    const [file] = files(SERVER).list("mine");
    expect(file?.name).toBe("a.txt");
    expect(JSON.stringify(sessions(SERVER).get("mine"))).not.toContain("attached"); // what we tell is not what was said

    await ask({ messages: [{ role: "user", content: "And?" }], session_id: "mine" });
    expect(prompt()[0]?.[1]).toContain("hello");
    expect(prompt()[1]).toEqual(["user", "Sum it up: [File: a.txt]"]);

    const [question] = first["messages"] as readonly object[];
    const messages = [question, { role: "assistant", content: "Hi" }, { role: "user", content: "So?" }];
    await ask({ messages, session_id: "mine" });
    expect(files(SERVER).list("mine")).toHaveLength(1);
    expect(prompt().map(([role]) => role)).toEqual(["system", "user", "assistant", "user"]);
  });

  test("is not saved by a run that fails or is cut off", async () => {
    const error = { code: "engine_failed", message: "it died" } as const;
    for (const events of [
      [ACCEPTED, text("He"), { type: "error", error } as const],
      [ACCEPTED, text("He")],
    ]) {
      const { ask, sessions } = setUp(events);
      await ask({ ...hi, session_id: "mine" });
      expect(sessions(SERVER).get("mine")).toBeUndefined();
    }
  });

  test("continues from one choice, so n must be 1", async () => {
    const error = await refusal(() => setUp().ask({ ...hi, session_id: "mine", n: 2 }));
    expect<object>({ code: error.code, param: error.param }).toEqual({
      code: "contradictory_fields",
      param: "n",
    });
  });
});
