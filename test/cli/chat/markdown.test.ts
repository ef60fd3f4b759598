// Markdown for the terminal: what it looks like, and that nothing is lost or depends on how the text is cut.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { MarkdownStream } from "../../../src/cli/chat/markdown.ts";

/** Looks as readable tags. */
function readable(text: string): string {
  const [first = "", ...rest] = text.split("\u001b[");
  const shown = rest.map((piece) => {
    const [, code = "", after = ""] = /^([\d;]*)m([^]*)$/.exec(piece) ?? [];
    return (code === "0" ? "</>" : `<${code}>`) + after;
  });
  return first + shown.join("");
}

function show(...pieces: readonly string[]): string {
  const stream = new MarkdownStream();
  return pieces.map((piece) => stream.write(piece)).join("") + stream.end();
}

test.each([
  ["plain text", "plain text"],
  ["# Title\nbody", "<1;36>Title</>\nbody"],
  ["a **bold** b", "a <1>bold</> b"],
  ["**bold *and italic* more**", "<1>bold <3>and italic</><1> more</>"],
  ["a `co*de*` b", "a <36>co*de*</> b"],
  ["~~gone~~", "<9>gone</>"],
  ["snake_case_name, _word_", "snake_case_name, <3>word</>"],
  ["2 * 3 * 4, a*b\nc", "2 * 3 * 4, a*b\nc"],
  ["**never closed\nnext", "**never closed\nnext"],
  ["\\*no\\* \\n", "*no* \\n"],
  ["- one\n  - two\n* three\n1. four", "• one\n  • two\n• three\n1. four"],
  ["> said", "<2>│ said</>"],
  ["a\n---\nb", "a\n<2>────────────────────────────────</>\nb"],
  ["[text](http://x.y) [no] link[0]", "<4>text</> <2>(http://x.y)</> [no] link[0]"],
  ["[http://x.y](http://x.y)", "<4>http://x.y</>"],
  ["```ts\nconst a = *1*;\n\n```\nafter", "<2>```ts</>\n<36>const a = *1*;</>\n\n<2>```</>\nafter"],
  [
    "| a | bb |\n|---|:-:|\n| **c** | d |\nend",
    "<1>a</><2> │ </><1>bb</>\n<2>──┼───</>\n<1>c</><2> │ </>d\nend",
  ],
  ["| just a bar\nend", "| just a bar\nend"],
  ["-", "-"],
  ["5 > 3 and #1", "5 > 3 and #1"],
  ["**a** and **b**", "<1>a</> and <1>b</>"],
])("%j", (markdown, shown) => {
  expect(readable(show(markdown))).toBe(shown);
});

describe("as a stream", () => {
  test("ordinary text, and code, come at once", () => {
    const stream = new MarkdownStream();
    expect(stream.write("The ")).toBe("The ");
    expect(stream.write("answer")).toBe("answer");
    expect(stream.write(" **is")).toBe(" ");
    expect(readable(stream.write(" so**!"))).toBe("<1>is so</>!");
    expect(readable(stream.write("\n```\nlet x"))).toBe("\n<2>```</>\n<36>let x");
  });

  test("a span that goes on for too long is shown as it is", () => {
    const stream = new MarkdownStream();
    const long = `*${"x".repeat(500)}`;
    expect(stream.write(long)).toBe(long);
  });

  const words = fc.constantFrom(
    "a",
    " ",
    "\n",
    "*",
    "**",
    "_",
    "`",
    "```",
    "#",
    "-",
    "|",
    "[",
    "](x)",
    "> ",
    "1.",
    "~~",
    "\\",
  );

  test("however it is cut, it looks the same", () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 30 }), (pieces) => {
        expect(Bun.stripANSI(show(...pieces))).toBe(Bun.stripANSI(show(pieces.join(""))));
      }),
      { numRuns: 2000 },
    );
  });

  test("letters are never lost, and it ends in plain looks", () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 30 }), (pieces) => {
        const shown = show(...pieces);
        const letters = (text: string) => text.replaceAll(/[^a]/g, "").length;
        expect(letters(shown)).toBe(letters(pieces.join("")));
        const last = shown.split("\u001b[").slice(1).at(-1) ?? "0m";
        expect(last).toStartWith("0m");
      }),
      { numRuns: 2000 },
    );
  });
});
