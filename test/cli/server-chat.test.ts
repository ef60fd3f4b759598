// A terminal chat's side of a running server, over HTTP: what the server's routes send is what the chat shows.

import { describe, expect, onTestFinished, test } from "bun:test";
import { findServer } from "../../src/cli/server-chat.ts";
import type { ChatChoices } from "../../src/cli/chat/choices.ts";
import { ChatState } from "../../src/cli/chat/conversation.ts";
import { promptProgressText } from "../../src/cli/chat/stats.ts";
import { loadSettings } from "../../src/config/resolve.ts";
import type { AnswerEvent, Converse, Decision } from "../../src/core/agent.ts";
import { SERVER } from "../../src/core/caller.ts";
import { testApp } from "../helpers/app.ts";
import { ACCEPTED, end, FINISH, text } from "../helpers/run-events.ts";

const APPROVAL = {
  type: "approval_required",
  approvalId: "appr_1",
  sessionId: "sess_1",
  round: 2,
  tool: {
    source: "built-in",
    kind: "shell",
    label: "Run shell commands",
    reach: { files: "workdir", network: "none" },
  },
  arguments: { commands: ["ls"] },
} as const satisfies AnswerEvent;

/** The chat's side of a server that answers so. */
async function chatWith(events: readonly AnswerEvent[]) {
  const seen: unknown[] = [];
  const answers: unknown[] = [];
  const converse: Converse = async function* ({ run }) {
    seen.push(run.progress);
    yield* events;
  };
  const answerApproval = (id: string, decision: Decision) => {
    answers.push([id, decision]);
    return "resolved" as const;
  };
  const app = testApp(undefined, { converse, answerApproval });
  const bodies: object[] = [];
  const fetch = async (request: Request) => {
    if (request.method === "POST") bodies.push((await request.clone().json()) as object);
    return app.app.handle(request);
  };
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch });
  onTestFinished(() => void server.stop(true));
  const loaded = loadSettings({
    folder: "/",
    environment: {},
    flags: { "server.host": "127.0.0.1", "server.port": String(server.port) },
  });
  if (!loaded.ok) throw new Error("no settings");
  const chat = await findServer(loaded.settings, false);
  if (chat === undefined) throw new Error("the server is not found");
  const ask = (choices: ChatChoices = {}) => {
    const state = new ChatState(
      { id: chat.model, preset: { temperature: 0.3, top_k: 9, thinking: true } },
      choices,
    );
    const question = state.question("Hi");
    return Array.fromAsync(
      chat.converse(state.request(question, {}, true), new AbortController().signal, SERVER),
    );
  };
  return { ask, chat, seen, answers, bodies };
}

const SPENT = { promptTokens: 40, cachedTokens: 0, completionTokens: 8 };

function edited(summary: string): AnswerEvent {
  const edit = { type: "compaction", summary, replaced: 3, kept: [], tokens: 90, spent: SPENT } as const;
  return { type: "context_edited", edits: [edit] };
}

describe("a chat at a running server", () => {
  test("gets every event of tools and progress as the server made it", async () => {
    const cut = { type: "input_cut", files: [{ name: "a.txt", shown: 4096, bytes: 9000 }] } as const;
    const load = { type: "load_progress", permille: 420 } as const;
    const prompt = { type: "prompt_progress", total: 4300, cached: 24, processed: 1024, ms: 2000 } as const;
    const { ask, seen } = await chatWith([
      load,
      ACCEPTED,
      { type: "session", sessionId: "sess_1" },
      cut,
      prompt,
      edited("FACT 1"),
      text("He"),
      edited("FACT 2"),
      APPROVAL,
      text("llo"),
      end("stop"),
      FINISH,
    ]);
    const events = await ask();
    expect(events).toContainEqual(APPROVAL);
    expect(events.filter(({ type }) => type === "input_cut")).toEqual([cut]);
    expect(events.filter(({ type }) => type === "context_edited")).toMatchObject([
      { edits: [{ type: "compaction", summary: "FACT 1", replaced: 3, tokens: 90, spent: SPENT }] },
      { edits: [{ summary: "FACT 2" }] },
    ]);
    expect(events).toContainEqual(load);
    expect(events).toContainEqual(prompt);
    expect(events.flatMap((event) => (event.type === "text" ? event.text : [])).join("")).toBe("Hello");
    expect(seen).toEqual([true]);
  });

  test("sends what the person has set and leaves the rest to the server", async () => {
    const { ask, bodies } = await chatWith([ACCEPTED, text("Hello"), end("stop"), FINISH]);
    await ask();
    await ask({ sampling: { topK: 0 }, thinking: { enabled: false }, maxTokens: 5 });
    const plain = { model: "tiny", messages: [{ role: "user", content: "Hi" }], stream: true };
    const always = { ...plain, return_progress: true, truncate_sequence: true };
    expect(bodies).toEqual([always, { ...always, top_k: 0, enable_thinking: false, max_tokens: 5 }]);
  });

  test("sends decisions to the approval", async () => {
    const { chat, answers } = await chatWith([]);
    chat.answerApproval("appr_1", { approved: true, remember: true }, SERVER);
    while (answers.length === 0) await Bun.sleep(1);
    expect(answers).toEqual([["appr_1", { approved: true, remember: true }]]);
  });
});

test("progress of a prompt has its pace and what is left", () => {
  const event = { type: "prompt_progress", total: 4300, cached: 24, processed: 1024, ms: 2000 } as const;
  expect(promptProgressText(event)).toBe("reading 1,024 of 4,300 tokens, 500 a second, 7 s left");
  expect(promptProgressText({ ...event, processed: 24 })).toBe("reading 24 of 4,300 tokens");
  expect([0, 1, 2].map((ahead) => promptProgressText({ ...event, ahead }))).toEqual([
    "next in the queue",
    "1 request before this one",
    "2 requests before this one",
  ]);
});
