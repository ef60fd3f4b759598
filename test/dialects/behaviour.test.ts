// Behaviour common to all generation dialects: the same runs through each of them.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { supports, type Dialect, DIALECTS, framesOf, NO_CODE } from "../helpers/dialects.ts";
import { joinsOf, LONG, PIECES, serializedBy } from "../helpers/cost.ts";
import { ACCEPTED, end, FINISH, text } from "../helpers/run-events.ts";
import { anyRun, type Script, type ScriptName, SCRIPTS } from "../helpers/scripts.ts";
import { parseSse } from "../helpers/sse.ts";

const ALL = Object.entries<Script>(SCRIPTS);

describe.each(DIALECTS.map((dialect): [string, Dialect] => [dialect.name, dialect]))("%s", (_, dialect) => {
  const scripts = ALL.filter(([, { needs }]) => supports(dialect, needs));
  const whole = scripts.filter(([name]) => name !== "failed");
  const answerOf = (name: ScriptName) => dialect.answerOf(dialect.body(SCRIPTS[name]));

  test.each(whole)("the stream folds into the body: %s", (__, run) => {
    const body = dialect.body(run);
    expect(dialect.folded(dialect.stream(run), run)).toEqual(body);
    expect(JSON.parse(JSON.stringify(body))).toEqual(body); // JSON loses nothing
  });

  test("the stream of any run folds into its body", () => {
    fc.assert(
      fc.property(anyRun(), (run) => {
        const choices = dialect.has.includes("choices") ? run.choices : 1;
        const events = run.events.filter(
          (event) =>
            (dialect.has.includes("tools") || !event.type.startsWith("tool_call")) &&
            (!("choice" in event) || event.choice < choices),
        );
        const supported = { ...run, events, choices };
        expect(dialect.folded(dialect.stream(supported), supported)).toEqual(dialect.body(supported));
      }),
    );
  });

  test("serialized frames equal JSON of the plain object for any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.boolean(), (piece, thinks) => {
        const said = { type: thinks ? "reasoning" : "text", choice: 0, text: piece } as const;
        const events = [ACCEPTED, said, said, end(), FINISH];
        for (const { data } of framesOf(dialect, dialect.stream({ events })).filter(isJson))
          expect(JSON.stringify(JSON.parse(data))).toBe(data);
        const whole = dialect.answerOf(dialect.body({ events }));
        const shown = thinks && dialect.showsReasoning ? (whole.reasoning ?? "") : whole.text;
        expect(shown).toBe(piece + piece);
      }),
    );
  });

  test("cost is linear in the answer: each delta is serialized once, and joined once", () => {
    let stream = "";
    const serialized = serializedBy(() => {
      stream = dialect.stream({ events: LONG });
    });
    const ends = dialect.name === "responses" ? 4 : 0; // text, part, item, response
    expect(serialized).toBeLessThan(PIECES.length * ('"w0 "[]'.length + ends * "w0 ".length) + 20_000);
    expect(framesOf(dialect, stream).length).toBeGreaterThan(PIECES.length);
    let body: unknown;
    expect(joinsOf(() => (body = dialect.body({ events: LONG })))).toBeLessThan(10);
    expect(dialect.answerOf(body).text).toBe(PIECES.join(""));
  });

  test.each(scripts)("a stream has exactly one end, as its last frame: %s", (__, { events }) => {
    const stream = dialect.stream({ events });
    const ends = framesOf(dialect, stream).map((frame) => dialect.isEnd(frame));
    expect(ends.filter(Boolean)).toHaveLength(1);
    expect(ends.at(-1)).toBe(true);
    expect(dialect.stream({ events: [...events, text("more"), FINISH] })).toBe(stream);
  });

  test("text is unchanged", () => {
    expect(answerOf("text")).toMatchObject({ text: 'Héllo "you"\n🌍', calls: [], isTruncated: false });
    expect(answerOf("empty")).toMatchObject({ text: "", isTruncated: false });
  });

  test("a truncated answer is reported as such", () =>
    expect(answerOf("cut")).toMatchObject({ text: "He", isTruncated: true }));

  test("reasoning is separate from text, if the dialect supports it", () => {
    const apart = { text: "Yes", reasoning: "Let me\nthink" };
    expect(answerOf("reasoning")).toMatchObject(
      dialect.showsReasoning ? apart : { text: "Let me\nthinkYes" },
    );
  });

  test.skipIf(!dialect.has.includes("tools"))("calls have their ids, names and arguments", () => {
    expect(answerOf("tools")).toMatchObject({
      text: "I look.",
      calls: [
        { id: "call_a", name: "find", args: '{"q":"x"}' },
        { id: "call_b", name: "stop", args: "{}" },
      ],
    });
  });

  test("usage equals that of the run", () => {
    const { cached = 4, ...tokens } = answerOf("text").tokens;
    expect({ ...tokens, cached }).toEqual({ prompt: 12, cached: 4, completion: 8 });
  });

  test("a failure is an in-band error in a stream, and thrown instead of a body", () => {
    const events = framesOf(dialect, dialect.stream(SCRIPTS.failed));
    expect(dialect.failure(events)).toBeOneOf(["engine_failed", NO_CODE]);
    expect(events.map(({ data }) => data).join("\n")).toContain("the engine died");
    expect(() => dialect.body(SCRIPTS.failed)).toThrow("the engine died");
  });

  test.skipIf(!dialect.has.includes("agent"))("agent events are named events, in order", () => {
    const named = parseSse(dialect.stream(SCRIPTS.agent)).events.filter(
      ({ event }) => event === "agentic_tool_call_progress" || event === "file_produced",
    );
    const sent = named.map(({ event, data }) => {
      const { phase, tool_name: tool, round, data: progress, id } = JSON.parse(data);
      return event === "file_produced" ? [id] : [phase, tool, round, progress.tool_type];
    });
    expect(sent).toEqual([
      ["calling", "svc_shell", 1, "shell"],
      ["file_r1_0"],
      ["complete", "svc_shell", 1, "shell"],
      ["calling", "svc_execute_python", 2, "code_execution"],
      ["complete", "svc_execute_python", 2, "code_execution"],
    ]);
    expect(answerOf("agent").text).toBe("It is 2.");
  });
});

function isJson({ data }: { readonly data: string }): boolean {
  return data !== "[DONE]";
}

test("the suite covers several dialects with several runs each", () => {
  expect(DIALECTS.length).toBeGreaterThan(2);
  for (const dialect of DIALECTS) {
    expect(ALL.filter(([, { needs }]) => supports(dialect, needs)).length).toBeGreaterThan(3);
  }
});
