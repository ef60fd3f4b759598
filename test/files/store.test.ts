import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { SERVER } from "../../src/core/caller.ts";
import type { NewFile } from "../../src/core/files.ts";
import { fileStore } from "../../src/files/store.ts";
import { cutText, sniff } from "../../src/files/text.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const source = { tool: "user_upload", round: 0, turn: 0 };
const input = (name: string, extra: Partial<NewFile> = {}): NewFile => {
  return { name, purpose: "user_data", source, ...extra };
};

describe("a preview", () => {
  test("is the start of a text, for any chunking", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 60 }).filter((text) => !text.includes("\0")),
        fc.array(fc.nat(300), { maxLength: 5 }),
        fc.nat(40),
        (text, cuts, limit) => {
          const bytes = encode(text);
          const ends = [...cuts.filter((cut) => cut < bytes.length), bytes.length].sort((a, b) => a - b);
          const pieces = ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end));
          const wanted = text.startsWith("\ufeff") ? text.slice(1) : text;
          const { isText, beginning, isWhole } = sniff(pieces, { characters: limit });
          expect([isText, isWhole]).toEqual([true, Array.from(wanted).length <= limit]);
          expect(beginning).toBe(Array.from(wanted).slice(0, limit).join(""));
        },
      ),
      { numRuns: 500 },
    );
  });

  test("in bytes ends with a whole character", () => {
    expect(cutText("aäöü", { bytes: 4 })).toBe("aä");
    expect(cutText("🦊🦊", { bytes: 7 })).toBe("🦊");
    expect(cutText("abc", { bytes: 100 })).toBe("abc");
    expect(cutText("a🦊b", { characters: 2 })).toBe("a🦊");
  });

  test("exists only for valid UTF-8 without NUL", () => {
    const isText = (bytes: readonly number[]) => sniff([Uint8Array.from(bytes)], { bytes: 9 }).isText;
    expect([[0x41], [], [0xc3, 0xa4]].map(isText)).toEqual([true, true, true]);
    expect([[0xc3], [0xff], [0x41, 0], [0xed, 0xa0, 0x80]].map(isText)).toEqual([false, false, false, false]);
  });

  test("of an input has 4096 characters, of an output 1024 bytes", async () => {
    const files = fileStore(ownedState(memoryState()))(SERVER);
    const text = encode("ä".repeat(5000));
    const asInput = await files.add(input("a.txt"), [text]);
    const asOutput = await files.add(input("a.txt", { purpose: "agent_output" }), [text]);
    expect([asInput.preview?.length, asOutput.preview?.length]).toEqual([4096, 512]);
  });
});

describe("a file object", () => {
  const objectOf = async (file: NewFile, bytes: Uint8Array<ArrayBuffer>) => {
    const files = fileStore(ownedState(memoryState()), { clock: () => 5000 })(SERVER);
    return files.object(await files.add(file, [bytes]));
  };

  test("has the text of a text file, with byte order mark", async () => {
    expect(await objectOf(input("a.csv", { id: "file_1" }), encode("\ufeffa,b"))).toEqual({
      id: "file_1",
      name: "a.csv",
      format: "csv",
      mime_type: "text/csv",
      bytes: 6,
      created_at: 5,
      purpose: "user_data",
      source,
      preview: "a,b",
      text: "\ufeffa,b",
    });
  });

  test("has other bytes as base64", async () => {
    const object = await objectOf(input("a.bin"), Uint8Array.of(0xff, 0, 1));
    expect(object).toMatchObject({ bytes: 3, data_base64: "/wAB" });
    expect(object).not.toHaveProperty("text");
    expect(object).not.toHaveProperty("mime_type");
  });

  test("above 8 MiB has no body", async () => {
    const atLimit = await objectOf(input("a.txt"), new Uint8Array(8 * 1024 * 1024).fill(65));
    const above = await objectOf(input("a.txt"), new Uint8Array(8 * 1024 * 1024 + 1).fill(65));
    expect(atLimit.text?.length).toBe(8 * 1024 * 1024);
    expect(above).not.toHaveProperty("text");
    expect(above.preview?.length).toBe(4096);
  });

  test("of a file that was not produced has the reason", async () => {
    const files = fileStore(ownedState(memoryState()))(SERVER);
    const failure = { code: "not_produced", message: "no such file" };
    const object = await files.object(files.addFailure(input("a.txt"), failure));
    expect(object).toMatchObject({ bytes: 0, ...failure });
  });
});

test("files are found by session, also shared ones", async () => {
  const files = fileStore(ownedState(memoryState()))(SERVER);
  const a = await files.add(input("a.txt", { sessionId: "one" }), []);
  const b = await files.add(input("b.txt"), []);
  files.join(b.id, "one");
  files.join(b.id, "two");
  files.join(b.id, "two");
  files.join("file-unknown", "two");
  const names = (sessionId: string) => files.list(sessionId).map(({ name }) => name);
  expect([names("one"), names("two"), names("three")]).toEqual([["a.txt", "b.txt"], ["b.txt"], []]);
  expect(files.get(b.id)?.sessions).toEqual(["one", "two"]);
  expect(files.hasBody(a.id)).toBe(true);
});
