// Invariants of an answer's events for random model output and tool failures.

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { AnswerEvent } from "../../src/core/agent.ts";
import { SERVER } from "../../src/core/caller.ts";
import type { Message } from "../../src/core/message.ts";
import type { RunEvent } from "../../src/core/run.ts";
import { asking, calls, fakeTool, messagesOf, saying, scripted, testLoop } from "../helpers/agent.ts";
import { ACCEPTED, end, FINISH, text } from "../helpers/run-events.ts";

const FUNCTION = { name: "get_time", parameters: { type: "object", properties: {} }, strict: false };
const ERROR: RunEvent = { type: "error", error: { code: "engine_failed", message: "it died" } };

const call = fc.tuple(
  fc.constantFrom("svc_fine", "svc_failing", "get_time", "invented"),
  fc.constantFrom("{}", '{"a":1}', "[]", "{broken", ""),
);

const pass = fc
  .record({
    words: fc.array(fc.constantFrom("a", "b "), { maxLength: 3 }),
    made: fc.array(call, { maxLength: 4 }),
    isCut: fc.boolean(),
    fails: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  })
  .map(({ words, made, isCut, fails }): readonly RunEvent[] => {
    const reason = isCut ? "length" : made.length > 0 ? "tool_calls" : "stop";
    const last = fails ? [ERROR] : [end(reason), FINISH];
    return [ACCEPTED, ...words.map((word) => text(word)), ...calls(...made), ...last];
  });

const count = (events: readonly AnswerEvent[], ...types: readonly AnswerEvent["type"][]) =>
  events.filter(({ type }) => types.includes(type)).length;

/** Every call of an assistant message is answered by the messages right behind it, in order. */
function expectAnsweredCalls(messages: readonly Message[]): void {
  for (const [index, { toolCalls = [] }] of messages.entries()) {
    const answers = messages.slice(index + 1, index + 1 + toolCalls.length);
    expect(answers.map(({ toolCallId }) => toolCallId)).toEqual(toolCalls.map(({ id }) => id));
  }
}

function expectForm(events: readonly AnswerEvent[]): void {
  expect(events[0]).toEqual(ACCEPTED);
  expect(events[1]?.type).toBe("session");
  expect(count(events, "accepted", "session")).toBe(2);
  expect(count(events, "finish", "error")).toBe(1);
  expect(["finish", "error"]).toContain(events.at(-1)?.type ?? "");
  expect(count(events, "choice_end")).toBe(count(events, "finish"));
  let open = 0;
  for (const { type } of events) {
    if (type === "tool_calling") open++;
    if (type === "tool_complete") open--;
    expect([0, 1]).toContain(open); // one after another
  }
  expect(open).toBe(0);
  const starts = events.flatMap((event) => (event.type === "tool_call_start" ? [event] : []));
  expect(starts.map(({ index }) => index)).toEqual(starts.map((_, index) => index));
  expect(new Set(starts.map(({ name }) => name)).isSubsetOf(new Set(["get_time"]))).toBe(true);
  const ending = events.findLast(({ type }) => type === "choice_end");
  if (ending?.type === "choice_end" && ending.reason === "tool_calls") expect(starts).not.toEqual([]);
}

test("an answer has one start, one end, and a result for every call", async () => {
  const conversation = asking({ maxToolRounds: 3 }, { prompt: { tools: [FUNCTION] } });
  await fc.assert(
    fc.asyncProperty(fc.array(pass, { minLength: 1, maxLength: 4 }), async (passes) => {
      const failing = fakeTool({
        name: "svc_failing",
        run: () => {
          throw new Error("it failed");
        },
      });
      const { generate, requests } = scripted(...passes, ...Array.from({ length: 4 }, () => saying("ok")));
      const loop = testLoop({ generate, tools: [fakeTool({ name: "svc_fine" }), failing] });
      const events = await loop.answer(conversation);
      expectForm(events);
      for (const request of requests) expectAnsweredCalls(messagesOf(request));
      expect(loop.sessions.saved).toHaveLength(count(events, "finish"));
      expect(requests.length).toBeLessThanOrEqual(4);
    }),
    { numRuns: 300 },
  );
});

test("a disconnect at any event ends the answer there", async () => {
  const passes = [
    [ACCEPTED, text("a"), ...calls(["svc_fine", "{}"], ["svc_fine", "{}"]), end("tool_calls"), FINISH],
    saying("b"),
  ];
  const whole = await testLoop({ ...scripted(...passes), tools: [fakeTool({ name: "svc_fine" })] }).answer(
    asking(),
  );
  for (let left = 0; left < whole.length; left++) {
    const client = new AbortController();
    const loop = testLoop({ ...scripted(...passes), tools: [fakeTool({ name: "svc_fine" })] });
    const seen: AnswerEvent[] = [];
    for await (const event of loop.converse(asking(), client.signal, SERVER)) {
      seen.push(event);
      if (seen.length > left) {
        client.abort();
        break;
      }
    }
    expect(seen).toEqual(whole.slice(0, left + 1));
    const isSaved = whole[left]?.type === "choice_end" || whole[left]?.type === "finish";
    expect(loop.sessions.saved).toHaveLength(isSaved ? 1 : 0);
  }
});
