// What the terminal shows of a model's file: the words of whoever made it, and nothing that a terminal obeys.

import { expect, test } from "bun:test";
import { fileText, type ShownFile } from "../../src/cli/file-details.ts";
import { searchTable } from "../../src/cli/search-table.ts";
import { columns } from "../../src/cli/table.ts";
import { metadataLines } from "../../src/core/gguf-facts.ts";
import { terminalText, visibleLine } from "../../src/core/visible-text.ts";
import { stringField } from "../../src/lora/gguf-write.ts";

/** Sets the title, clears the screen, in 7 and 8 bits; turns the direction of the line. */
const HARM = "\u001B]0;PWNED\u0007\u001B[2J\u009B2J\u202E";
const LONG = "A".repeat(6000);

const FILE: ShownFile = {
  path: `/models/${HARM}a.gguf`,
  parts: 1,
  name: `${HARM}Name\nline`,
  facts: {
    architecture: `llama${HARM}`,
    license: HARM + LONG,
    quantization: undefined,
    chatTemplate: "none",
    contextTokens: 4294967295,
    parameters: 1,
    sizeBytes: 1,
    memoryBytes: 1,
  },
  tensors: [{ type: `F32${HARM}`, count: 1, bytes: 4 }],
  metadata: metadataLines(new Map([["a", stringField(`general.${HARM}\nkey`, HARM)]])),
  template: `{{ ${HARM} }}\n\tok`,
};

test.each(["card", "metadata", "template"] as const)("the %s of a file moves no cursor", (part) => {
  const text = fileText(FILE, part);
  expect(text.replaceAll(/[\n\t]/g, "")).not.toMatch(/[\p{Cc}\u202E]/u);
  expect(text.split("\n").every((line) => line.length < 500)).toBe(true);
});

test("texts stay readable", () => {
  expect(fileText(FILE, "card")).toContain("]0;PWNED[2J2JName line");
  expect(fileText(FILE, "template")).toBe("{{ ]0;PWNED[2J2J }}\n\tok\n");
  expect(terminalText("naïve — 漢字 👩‍💻\n")).toBe("naïve — 漢字 👩‍💻\n");
  expect(columns([[`a\n${HARM}b`, "c"]])).toBe("a ]0;PWNED[2J2Jb  c\n");
  expect(visibleLine(LONG)).toHaveLength(201);
});

test("so does the answer of a hub", () => {
  const repository = {
    id: `evil/${HARM}`,
    object: "hub.repository",
    access: "public",
    downloads: 1,
    likes: 0,
    updated_at: 0,
    license: HARM,
    task: null,
    architecture: HARM,
    parameters: 1e9,
    context_length: null,
    tags: [] as string[],
    downloaded: false,
  } as const;
  expect(searchTable([repository]).replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202E]/u);
});
