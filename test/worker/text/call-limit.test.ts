// Answers end at a call that repeats an earlier one, and at one too many.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { CallLimit } from "../../../src/worker/text/call-limit.ts";
import type { OutputDelta } from "../../../src/worker/text/output-parser.ts";

type Call = readonly [name: string, args: string];

/** The deltas of calls whose arguments come in pieces of `size` characters. */
function deltasOf(calls: readonly Call[], size: number): readonly OutputDelta[] {
  return calls.flatMap(([name, args], index) => [
    { type: "tool_call_start" as const, index, id: `call_${index}`, name },
    ...(args.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []).map((delta) => ({
      type: "tool_call_args" as const,
      index,
      delta,
    })),
  ]);
}

/** What is sent of an answer, as calls and text, and whether it was ended early. */
function sent(deltas: readonly OutputDelta[], most = 32) {
  const limit = new CallLimit(most);
  const taken = deltas.flatMap((delta) => [...limit.take(delta)]);
  const all = [...taken, ...limit.end()];
  const calls: [string, string][] = [];
  let text = "";
  for (const delta of all) {
    if (delta.type === "tool_call_start") calls.push([delta.name, ""]);
    else if (delta.type === "tool_call_args") {
      const call = calls[delta.index];
      if (call !== undefined) call[1] += delta.delta;
    } else text += delta.text;
  }
  return { calls, text, isOver: limit.isOver };
}

const PARIS: Call = ["weather", '{"city":"Paris"}'];
const ROME: Call = ["weather", '{"city":"Rome"}'];
const PARIS_TIME: Call = ["time", '{"city":"Paris"}'];

describe.each([1, 3, 100])("in pieces of %d characters", (size) => {
  test.each<[string, readonly Call[], readonly Call[]]>([
    ["the same call twice", [PARIS, PARIS], [PARIS]],
    ["a call that comes back later", [PARIS, ROME, PARIS, ROME], [PARIS, ROME]],
    ["other arguments, another function", [PARIS, ROME, PARIS_TIME], [PARIS, ROME, PARIS_TIME]],
    [
      "no arguments at all, twice",
      [
        ["now", "{}"],
        ["now", "{}"],
      ],
      [["now", "{}"]],
    ],
    [
      "arguments that the format leaves out",
      [
        ["now", ""],
        ["now", ""],
        ["now", ""],
      ],
      [["now", ""]],
    ],
    [
      "arguments that begin as earlier ones",
      [
        ["a", '{"n":1}'],
        ["a", '{"n":12}'],
      ],
      [
        ["a", '{"n":1}'],
        ["a", '{"n":12}'],
      ],
    ],
    [
      "free text that continues earlier text",
      [
        ["sh", "ls"],
        ["sh", "ls -l"],
      ],
      [
        ["sh", "ls"],
        ["sh", "ls -l"],
      ],
    ],
  ])("%s", (_, calls, expected) => {
    const { calls: got, isOver } = sent(deltasOf(calls, size));
    expect(got).toEqual(expected.map(([name, args]) => [name, args]));
    expect(isOver).toBe(expected.length < calls.length);
  });

  test("the bound, which one call may be", () => {
    const calls = Array.from({ length: 9 }, (_, n): Call => ["look", `{"page":${n}}`]);
    for (const most of [1, 4]) {
      const { calls: got, isOver } = sent(deltasOf(calls, size), most);
      expect([got.length, isOver]).toEqual([most, true]);
    }
    expect(sent(deltasOf(calls, size), 9)).toMatchObject({ isOver: false });
  });

  test("a repetition that is cut off is shown as far as it came, and text after a call stays", () => {
    const cut = deltasOf([PARIS, ["weather", '{"city":"Pa']], size);
    expect(sent(cut).calls).toEqual([[...PARIS], ["weather", '{"city":"Pa']]);
    const text = { type: "text", text: "Done." } as const;
    expect(sent([...deltasOf([PARIS], size), text])).toMatchObject({ text: "Done.", isOver: false });
  });
});

test("distinct calls pass unchanged, however they are cut", () => {
  const call = fc.tuple(
    fc.constantFrom("a", "b"),
    fc.json().map((json) => `{"x":${json}}`),
  );
  fc.assert(
    fc.property(
      fc.uniqueArray(call, { selector: String, maxLength: 8 }),
      fc.integer({ min: 1, max: 9 }),
      (calls, size) => {
        expect(sent(deltasOf(calls, size))).toMatchObject({
          calls: calls.map((one) => [...one]),
          isOver: false,
        });
      },
    ),
  );
});
