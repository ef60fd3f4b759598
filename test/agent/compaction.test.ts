// Edits of conversations: cleared results and reasoning, and summaries in the place of old turns, with a scripted model.

import { describe, expect, test } from "bun:test";
import type { AnswerEvent, ContextEdits } from "../../src/core/agent.ts";
import type { AppliedEdit } from "../../src/core/applied-edit.ts";
import { type Caller, SERVER } from "../../src/core/caller.ts";
import { ServiceError } from "../../src/core/error.ts";
import { type Message, messageText } from "../../src/core/message.ts";
import type { Generate, RunRequest } from "../../src/core/run.ts";
import type { ModelTarget } from "../../src/core/target.ts";
import { fromOpaqueText, opaqueText } from "../../src/dialects/shared/compaction.ts";
import {
  asking,
  calling,
  fakeTool,
  messagesOf,
  saying,
  type TestLoop,
  testLoop,
  testTarget,
} from "../helpers/agent.ts";
import { end, FINISH, text } from "../helpers/run-events.ts";
import { turns } from "../helpers/turns.ts";

const CONTEXT = 8192;
const CHARS = 4; // of a token
const UNSPENT = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

function tokensOf(request: RunRequest): number {
  return Math.ceil(messagesOf(request).map(messageText).join("").length / CHARS);
}

/** A summary that a model was asked for. */
interface Write {
  readonly model: string;
  readonly signal: AbortSignal;
  readonly caller: Caller;
  isOver: boolean;
}

/** A model that keeps the facts of what it summarizes, and answers all else as it is told. */
function keeper(
  answer: (request: RunRequest) => readonly AnswerEvent[] = () => saying("ok"),
  gate: (signal: AbortSignal) => Promise<unknown> = async () => undefined,
) {
  const asked: RunRequest[] = [];
  const writes: Write[] = [];
  async function* generate(
    request: RunRequest,
    signal: AbortSignal,
    caller: Caller,
  ): AsyncGenerator<AnswerEvent> {
    const promptTokens = tokensOf(request);
    if (request.countOnly === true) return yield* [{ type: "accepted", promptTokens } as const, FINISH];
    const [system] = messagesOf(request);
    if (system !== undefined && messageText(system).startsWith("You write summaries")) {
      const write = { model: request.model, signal, caller, isOver: false };
      writes.push(write);
      await gate(signal);
      if (signal.aborted) return;
      write.isOver = true;
      expect(promptTokens).toBeLessThan(CONTEXT);
      const facts =
        messagesOf(request)
          .map(messageText)
          .join("\n")
          .match(/FACT \d+ is \w+/g) ?? [];
      return yield* [{ type: "accepted", promptTokens } as const, text(facts.join("\n")), end(), FINISH];
    }
    asked.push(request);
    yield* answer(request);
  }
  return { generate: generate as Generate, asked, writes, count: () => writes.length };
}

const says = (role: Message["role"], words: string): Message => ({
  role,
  content: [{ type: "text", text: words }],
});
const loopOf = (generate: Generate) => testLoop({ generate, contextTokens: async () => CONTEXT });

function expectPairs(messages: readonly Message[]): void {
  const open = new Set<string>();
  for (const { toolCalls = [], toolCallId } of messages) {
    for (const { id } of toolCalls) open.add(id);
    if (toolCallId !== undefined) expect(open.delete(toolCallId)).toBe(true);
  }
  expect([...open]).toEqual([]);
}

describe("compaction", () => {
  test("40 turns with calls in a context of 8k: facts survive, pairs stay, the last message is verbatim", async () => {
    const { generate, asked, count } = keeper();
    const loop = loopOf(generate);
    const talk: Message[] = [says("system", "You are terse.")];
    let told = 0;
    for (let turn = 0; turn < 40; turn++) {
      const id = `call_${turn}`;
      const fact = turn < 20 ? `FACT ${turn} is value${turn}` : "Go on";
      talk.push(says("user", `${fact}. ${"word ".repeat(150)}`));
      const messages = [...talk];
      const events = await loop.answer(
        asking({ edits: { compact: { share: 0.6 } } }, { prompt: { messages } }),
      );
      const request = asked.at(-1);
      if (request === undefined) throw new Error("the model was asked");
      expect(tokensOf(request)).toBeLessThanOrEqual(0.6 * CONTEXT);
      expect(messageText(messagesOf(request)[0] ?? says("user", ""))).toBe("You are terse.");
      expect(messageText(messagesOf(request).at(-1) ?? says("user", ""))).toEndWith(
        messageText(messages.at(-1) ?? says("user", "")),
      );
      expectPairs(messagesOf(request));
      told += events.filter(({ type }) => type === "context_edited").length;
      talk.push({ role: "assistant", content: [], toolCalls: [{ id, name: "read", arguments: "{}" }] });
      talk.push({ ...says("tool", "result ".repeat(100)), toolCallId: id, name: "read" });
      talk.push(says("assistant", "Noted."));
    }
    const last = messagesOf(asked.at(-1)).map(messageText).join("\n");
    const kept = Array.from({ length: 20 }, (_, at) => last.includes(`FACT ${at} is value${at}`));
    expect(kept.filter(Boolean)).toHaveLength(20);
    expect(count()).toBeLessThan(15);
    expect(told).toBeGreaterThan(20);
  });

  test("the same conversation has the same beginning, and one summary", async () => {
    const { generate, asked, count } = keeper();
    const loop = loopOf(generate);
    const written: number[] = [];
    const talk = Array.from({ length: 30 }, (_, at) =>
      says(at % 2 === 0 ? "user" : "assistant", `FACT ${at} is x ${"y ".repeat(400)}`),
    );
    for (let more = 0; more < 2; more++) {
      const messages = [
        ...talk,
        ...Array.from({ length: more }, () => says("assistant", "Yes.")),
        says("user", "And?"),
      ];
      await loop.answer(asking({ edits: { compact: { tokens: 4000 } } }, { prompt: { messages } }));
      written.push(count());
    }
    expect(written[1]).toBe(written[0] ?? 0);
    const [one, two] = asked.map(messagesOf);
    expect(two?.slice(0, (one?.length ?? 0) - 1)).toEqual([...(one?.slice(0, -1) ?? [])]);
  });

  test("a short conversation, and one that the model cannot summarize, stay as they are", async () => {
    const { generate, asked } = keeper();
    const messages = [says("user", "Hi")];
    const edits: ContextEdits = { compact: { tokens: 1000 } };
    await loopOf(generate).answer(asking({ edits }, { prompt: { messages } }));
    expect(messagesOf(asked[0])).toEqual(messages);
    const long = [says("user", "a ".repeat(4000)), says("assistant", "b"), says("user", "c")];
    const silent = keeper();
    await loopOf(silent.generate).answer(asking({ edits }, { prompt: { messages: long } }));
    expect(messagesOf(silent.asked[0])).toEqual(long);
  });

  test("a lower bound takes no turns from a request with a higher one", async () => {
    const { generate, asked } = keeper();
    const loop = loopOf(generate);
    const messages = Array.from({ length: 31 }, (_, at) =>
      says(at % 2 === 0 ? "user" : "assistant", `FACT ${at} is x ${"y ".repeat(400)}`),
    );
    for (const tokens of [1, 4000])
      await loop.answer(asking({ edits: { compact: { tokens } } }, { prompt: { messages } }));
    const [low = 0, high = 0] = asked.map((request) => messagesOf(request).length);
    expect(low).toBe(1);
    expect(high).toBeGreaterThan(5);
  });

  test("an old question that is too long gives way to a later one", async () => {
    const { generate, asked } = keeper();
    const messages = [
      says("user", "FACT 1 is x " + "a ".repeat(14_000)),
      says("assistant", "ok"),
      says("user", "And?"),
    ];
    await loopOf(generate).answer(asking({ edits: { compact: { share: 0.5 } } }, { prompt: { messages } }));
    const words = messagesOf(asked[0]).map(messageText).join("\n");
    expect(words.length).toBeLessThan(4000);
    expect(words).toContain("FACT 1 is x");
  });

  test("instructions that take most of the bound cost no summary a turn", async () => {
    const { generate, count } = keeper();
    const loop = loopOf(generate);
    const talk = [says("system", "Rule. ".repeat(2500))];
    for (let turn = 0; turn < 30; turn++) {
      talk.push(says("user", `Turn ${turn} ${"word ".repeat(30)}`));
      await loop.answer(asking({ edits: { compact: { share: 0.4 } } }, { prompt: { messages: [...talk] } }));
      talk.push(says("assistant", "Noted."));
    }
    expect(count()).toBeLessThan(6);
  });

  test("a server that refuses to cut prompts writes summaries, too", async () => {
    const { generate, asked } = keeper();
    const refusing = async function* (...[request, signal, caller]: Parameters<Generate>) {
      if (request.truncate) {
        const error = { code: "unsupported_capability", message: "leave out truncate_sequence" } as const;
        yield { type: "error", error } as const;
      } else yield* generate(request, signal, caller);
    };
    const messages = [
      says("user", `FACT 1 is kept ${"a ".repeat(4000)}`),
      says("assistant", "b"),
      says("user", "c"),
    ];
    await loopOf(refusing).answer(asking({ edits: { compact: { tokens: 1000 } } }, { prompt: { messages } }));
    expect(messagesOf(asked[0]).map(messageText).join("\n")).toMatch(/FACT 1 is kept\s+c$/);
  });

  test("rounds of an answer are compacted, too", async () => {
    let round = 0;
    const { generate, asked, count } = keeper(() =>
      round++ < 12 ? calling(["svc_fake", { round }]) : saying("Done"),
    );
    const tool = fakeTool({
      run: () => ({ text: `FACT ${round} is r${round} ${"z ".repeat(1500)}`, data: { tool_type: "custom" } }),
    });
    const loop = testLoop({ generate, tools: [tool], contextTokens: async () => CONTEXT });
    const events = await loop.answer(
      asking(
        { edits: { compact: { share: 0.6 } } },
        { prompt: { messages: [says("user", "Work on PLAN 7")] } },
      ),
    );
    expect(events.some(({ type }) => type === "error")).toBe(false);
    expect(count()).toBeGreaterThan(0);
    const last = messagesOf(asked.at(-1));
    expectPairs(last);
    const words = last.map(messageText).join("\n");
    expect(words).toContain("Work on PLAN 7");
    expect(
      Array.from({ length: 12 }, (_, at) => words.includes(`FACT ${at + 1} is r${at + 1}`)).every(Boolean),
    ).toBe(true);
  });

  test("a pause between rounds ends the answer behind the summary, which goes on with the last results", async () => {
    let round = 0;
    const { generate, asked } = keeper(() =>
      round++ < 12 ? calling(["svc_fake", { round }]) : saying("Done"),
    );
    const run = () => ({
      text: `FACT ${round} is r ${"z ".repeat(1500)}`,
      data: { tool_type: "custom" } as const,
    });
    const loop = testLoop({ generate, tools: [fakeTool({ run })], contextTokens: async () => CONTEXT });
    const edits: ContextEdits = { compact: { tokens: 5000, pauses: "after" } };
    const events = await loop.answer(asking({ edits }, { prompt: { messages: [says("user", "Work")] } }));
    const [edited, ended, finish] = events.slice(-3);
    expect(edited).toMatchObject({
      type: "context_edited",
      edits: [{ type: "compaction", replaced: expect.any(Number) }],
    });
    expect([ended, finish]).toMatchObject([{ type: "choice_end", isPaused: true }, { type: "finish" }]);
    expect(asked.length).toBe(round);
    expect(round).toBeLessThan(12);
    if (edited?.type !== "context_edited" || edited.edits[0]?.type !== "compaction")
      throw new Error("a compaction");
    const { kept } = edited.edits[0];
    expectPairs(kept);
    expect(kept.at(-1)?.role).toBe("tool");
  });

  test("an opaque text survives a round trip, and another one is none", () => {
    const kept = [
      says("user", "Summary"),
      { ...says("assistant", "b"), toolCalls: [{ id: "1", name: "f", arguments: "{}" }] },
    ];
    const opaque = opaqueText({
      type: "compaction",
      summary: "s",
      replaced: 3,
      tokens: 9,
      spent: UNSPENT,
      kept,
    });
    expect(fromOpaqueText(opaque)).toEqual([
      { ...says("user", "Summary"), replacesEarlier: true },
      ...kept.slice(1),
    ]);
    for (const other of [
      "gAAAA",
      "svc1.",
      `svc1.${btoa('[{"role":"system","content":[]}]')}`,
      7,
      opaque.slice(0, -9),
    ])
      expect(fromOpaqueText(other)).toBeUndefined();
  });
});

/** Turns of a growing conversation, each answered; what was told of compactions. */
async function talkOf(loop: TestLoop, count: number, edits: ContextEdits, between = async () => turnsDone()) {
  const talk: Message[] = [];
  const told: Extract<AppliedEdit, { type: "compaction" }>[] = [];
  for (let turn = 0; turn < count; turn++) {
    talk.push(says("user", `FACT ${turn} is value${turn}. ${"word ".repeat(60)}`));
    const events = await loop.answer(asking({ edits }, { prompt: { messages: [...talk] } }));
    for (const event of events)
      if (event.type === "context_edited")
        told.push(...event.edits.filter((edit) => edit.type === "compaction"));
    talk.push(says("assistant", "Noted."));
    await between();
  }
  return { talk, told };
}
const turnsDone = (): Promise<void> => Bun.sleep(0);

describe("a summary ahead", () => {
  const edits: ContextEdits = { compact: { share: 0.3 } };

  test("is written beside answers, is found by the turn that needs it, and keeps 20 of 20 facts", async () => {
    const model = keeper();
    const { talk, told } = await talkOf(loopOf(model.generate), 80, edits);
    const last = messagesOf(model.asked.at(-1)).map(messageText).join("\n");
    const kept = Array.from(
      { length: 20 },
      (_, at) => last.includes(`FACT ${at} is value${at}.`) || last.includes(`FACT ${at} is value${at}\n`),
    );
    expect(kept.filter(Boolean)).toHaveLength(20);
    for (const request of model.asked) {
      expect(tokensOf(request)).toBeLessThanOrEqual(0.3 * CONTEXT);
      expect(messageText(messagesOf(request).at(-1) ?? says("user", ""))).toEndWith("word ");
    }
    expect(model.count()).toBeGreaterThan(1);
    expect(model.writes.every(({ caller }) => caller.yields !== undefined)).toBe(true);
    // Counted once, by the answer that used it.
    const paid = told.filter(({ spent }) => spent.promptTokens > 0);
    expect(paid.length).toBe(new Set(told.map(({ summary }) => summary)).size);
    expect(messageText(talk.at(-1) ?? says("user", ""))).toBe("Noted.");
  });

  test("is waited for by a turn that needs it at once, and is nobody's to end then", async () => {
    let turn = 0;
    const model = keeper(undefined, async () => {
      for (let before = -1; before !== turn; await turns()) before = turn; // until a turn waits
      model.writes[0]?.caller.yields?.();
    });
    const between = async (): Promise<void> => {
      turn++;
      await turnsDone();
    };
    const { told } = await talkOf(loopOf(model.generate), 40, edits, between);
    expect(model.writes[0]?.caller.yields).toBeDefined();
    expect(model.writes[0]?.signal.aborted).toBe(false);
    expect(told.length).toBeGreaterThan(0);
  });

  test("ends where others want its place; then the turn that needs it writes it", async () => {
    const model = keeper(undefined, (signal) =>
      model.writes.at(-1)?.caller.yields === undefined
        ? Promise.resolve()
        : new Promise((resolve) => signal.addEventListener("abort", resolve)),
    );
    const between = async (): Promise<void> => {
      await turnsDone();
      for (const { caller } of model.writes) caller.yields?.();
      await turnsDone();
    };
    const { told } = await talkOf(loopOf(model.generate), 40, edits, between);
    expect(model.writes.some(({ caller, isOver }) => caller.yields !== undefined && isOver)).toBe(false);
    expect(model.writes.some(({ caller, isOver }) => caller.yields === undefined && isOver)).toBe(true);
    expect(told.length).toBeGreaterThan(0);
  });

  test("ends with an answer that is broken off", async () => {
    const model = keeper(
      () => saying("a", "b", "c"),
      (signal) => new Promise((resolve) => signal.addEventListener("abort", resolve)),
    );
    const loop = loopOf(model.generate);
    const messages = [0, 1, 2].flatMap((turn) => [
      says("user", `FACT ${turn} ${"word ".repeat(520)}`),
      says("assistant", "Noted."),
    ]);
    const talk = [...messages, says("user", "And?")];
    const stop = new AbortController();
    for await (const event of loop.converse(
      asking({ edits }, { prompt: { messages: talk } }),
      stop.signal,
      SERVER,
    )) {
      if (event.type !== "text") continue;
      await turnsDone();
      stop.abort();
    }
    expect(model.writes.map(({ signal }) => signal.aborted)).toEqual([true]);
  });

  test("is never begun where a number of tokens or no bound is named", async () => {
    const model = keeper();
    await talkOf(loopOf(model.generate), 20, { compact: { tokens: 2600 } });
    await talkOf(loopOf(model.generate), 20, {});
    expect(model.writes.filter(({ caller }) => caller.yields !== undefined)).toEqual([]);
  });
});

test("a named model writes the summaries, and one that is not served is refused by its field", async () => {
  const model = keeper();
  const writer = keeper();
  const modelNamed = (name: string): ModelTarget => {
    if (name !== "small") throw new ServiceError("model_not_found", "no such model", { param: "model" });
    return testTarget(name, { generate: writer.generate, contextTokens: async () => 2048 });
  };
  const loop = testLoop({ generate: model.generate, modelNamed, contextTokens: async () => CONTEXT });
  await talkOf(loop, 40, { compact: { share: 0.3, model: "small" } });
  expect(model.count()).toBe(0);
  expect(writer.writes.every((write) => write.model === "small")).toBe(true);
  expect(writer.count()).toBeGreaterThan(0);
  const refusal = talkOf(loop, 1, { compact: { share: 0.3, model: "large" } });
  expect(refusal).rejects.toMatchObject({ code: "model_not_found", param: "summary_model" });
});

describe("cleared are", () => {
  const talk = [
    says("user", "a"),
    ...["1", "2", "3", "4"].flatMap((id): readonly Message[] => [
      {
        ...says("assistant", ""),
        reasoning: `think ${id}`,
        toolCalls: [{ id, name: id === "1" ? "memory" : "read", arguments: '{"a":1}' }],
      },
      { ...says("tool", `result ${id}`), toolCallId: id },
    ]),
    says("user", "b"),
  ];
  const asked = async (edits: ContextEdits) => {
    const model = keeper();
    const events = await loopOf(model.generate).answer(asking({ edits }, { prompt: { messages: talk } }));
    return {
      messages: messagesOf(model.asked[0]),
      edits: events.find(({ type }) => type === "context_edited"),
    };
  };

  test("results of all calls but the last, in their pairs", async () => {
    const clearToolUses = { trigger: { tokens: 0 }, keep: 2, exclude: ["memory"], inputs: true };
    const { messages, edits } = await asked({ clearToolUses });
    expectPairs(messages);
    const results = messages.filter(({ role }) => role === "tool").map(messageText);
    expect(results.map((words) => words.startsWith("result"))).toEqual([true, false, true, true]);
    expect(messages.flatMap(({ toolCalls = [] }) => toolCalls).map((call) => call.arguments)).toEqual([
      '{"a":1}',
      "{}",
      '{"a":1}',
      '{"a":1}',
    ]);
    expect(edits).toMatchObject({ edits: [{ type: "clear_tool_uses", uses: 1 }] });
    const rare = await asked({ clearToolUses: { ...clearToolUses, trigger: { tokens: 0, uses: 4 } } });
    expect(rare.messages).toEqual(talk);
    const much = await asked({ clearToolUses: { ...clearToolUses, atLeast: 1000 } });
    expect(much.messages).toEqual(talk);
  });

  test("reasoning of all turns but the last", async () => {
    const { messages, edits } = await asked({ clearThinking: { keep: 1 } });
    expect(messages.flatMap(({ reasoning }) => reasoning ?? [])).toEqual(["think 4"]);
    expect(edits).toMatchObject({ edits: [{ type: "clear_thinking", turns: 3 }] });
  });
});
