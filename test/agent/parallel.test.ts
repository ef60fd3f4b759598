// Calls of one round: independent ones at the same time, progress in between, repeated ones cut short, lost state named.

import { expect, test } from "bun:test";
import type { AnswerEvent } from "../../src/core/agent.ts";
import { EQUAL_ROUNDS_MAX, EQUAL_ROUNDS_NOTED } from "../../src/agent/limits.ts";
import type { CallContext } from "../../src/agent/tool.ts";
import { renewalNote } from "../../src/agent/tools/built-in.ts";
import { pythonToolset } from "../../src/agent/tools/python.ts";
import { asking, calling, fakeTool, lastText, saying, scripted, testLoop } from "../helpers/agent.ts";
import { CONFINED, fakePython } from "../helpers/executors.ts";

const text = (value: string) => ({ text: value, data: { tool_type: "custom", content: value } }) as const;

function shown(events: readonly AnswerEvent[]): readonly string[] {
  return events.flatMap((event) => {
    if (event.type === "tool_progress") return [`running ${event.toolName}: ${event.message}`];
    if (event.type === "tool_calling" || event.type === "tool_complete")
      return [`${event.type.slice("tool_".length)} ${event.toolName}`];
    return [];
  });
}

test("independent calls meet each other, and their results come in the order of the calls", async () => {
  const both = Promise.withResolvers<void>();
  let running = 0;
  const tool = (name: string) =>
    Object.assign(
      fakeTool({
        name,
        run: async (_args, { report }: CallContext) => {
          if (++running === 2) both.resolve();
          await both.promise; // one after the other they would wait for ever
          if (name === "svc_b") report("half \ud800");
          return text(name);
        },
      }),
      { isIndependent: true } as const,
    );
  const { generate, requests } = scripted(calling(["svc_a", {}], ["svc_b", {}]), saying("ok"));
  const events = await testLoop({ generate, tools: [tool("svc_a"), tool("svc_b")] }).answer(asking());
  expect(shown(events).filter((line) => !line.startsWith("running"))).toEqual([
    "calling svc_a",
    "calling svc_b",
    "complete svc_a",
    "complete svc_b",
  ]);
  expect(shown(events)).toContain("running svc_b: half \ufffd");
  const results = requests[1]?.prompt.type === "chat" ? requests[1].prompt.messages.slice(-2) : [];
  expect(results.map(({ name }) => name)).toEqual(["svc_a", "svc_b"]);
});

test("texts for the client have no lone surrogates", async () => {
  const { generate } = scripted(calling(["svc_fake", { a: "\ud800" }]), saying("ok"));
  const tool = fakeTool({ run: () => text("a\ud800b") });
  const events = await testLoop({ generate, tools: [tool] }).answer(asking());
  const complete = events.find(({ type }) => type === "tool_complete");
  expect(complete).toMatchObject({ data: { content: "a\ufffdb" }, resultContent: "a\ufffdb" });
  expect(JSON.stringify(events)).not.toMatch(/[^\\]\\ud800/); // arguments are JSON text, which may have the escape
});

test("equal rounds are named to the model, then end with a note for the client", async () => {
  const rounds = Array.from({ length: 100 }, () => calling(["svc_fake", { a: 1 }]));
  const { generate, requests } = scripted(...rounds);
  const events = await testLoop({ generate, tools: [fakeTool()] }).answer(asking());
  expect(requests).toHaveLength(EQUAL_ROUNDS_MAX + 1);
  expect(lastText(requests[EQUAL_ROUNDS_NOTED - 1])).not.toContain("with the same result");
  expect(lastText(requests[EQUAL_ROUNDS_NOTED])).toContain(
    `${EQUAL_ROUNDS_NOTED} times with the same result`,
  );
  const said = events.flatMap((event) => (event.type === "text" ? [event.text] : [])).join("");
  expect(said).toContain(`No answer after ${EQUAL_ROUNDS_MAX} rounds`);
});

test("rounds with other results do not count as equal", async () => {
  const rounds = Array.from({ length: 30 }, () => calling(["svc_fake", { a: 1 }]));
  const { generate, requests } = scripted(...rounds, saying("ok"));
  let count = 0;
  const tool = fakeTool({ run: () => text(`result ${++count}`) });
  await testLoop({ generate, tools: [tool] }).answer(asking());
  expect(requests).toHaveLength(31);
});

test("rounds with other arguments do not count as equal, whatever the names in them", async () => {
  const rounds = Array.from({ length: 30 }, (_, n) => calling(["svc_fake", { a: `file_${n}` }]));
  const { generate, requests } = scripted(...rounds, saying("ok"));
  await testLoop({ generate, tools: [fakeTool()] }).answer(asking());
  expect(requests).toHaveLength(31);
});

test("a new interpreter is named to a model that has used another one", async () => {
  const python = fakePython({ renewal: { restored: ["keep.csv"] } });
  const made = ["svc_execute_python", { code: "1" }] as const;
  const { generate, requests } = scripted(calling([...made]), calling([...made]), saying("ok"));
  const { answer } = testLoop({ generate, toolsets: [pythonToolset(python, CONFINED)] });
  await answer(asking({ python: true }));
  expect(lastText(requests[1])).not.toContain("new interpreter"); // the first of the conversation
  expect(lastText(requests[2])).toContain("new interpreter in a new working directory");
  expect(lastText(requests[2])).toContain("put back: keep.csv.");
  expect(renewalNote("interpreter", { ranBefore: true }, {})).toMatch(
    /new interpreter:.*files are still there/,
  );
  expect(python.asked.map(({ isBrief }) => isBrief)).toEqual([true, true]);
});
