// Attached documents: their text goes with the file, in the request only.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readAttachment } from "../../../src/cli/chat/attachments.ts";
import { ChatState } from "../../../src/cli/chat/conversation.ts";
import { loadChat, saveChat } from "../../../src/cli/chat/saved-chat.ts";
import { docxOf, pdfOf } from "../../helpers/documents.ts";
import { tempDir } from "../../helpers/tmp.ts";

const WORD = docxOf("<w:p><w:r><w:t>It is cherry.</w:t></w:r></w:p>");

/** A chat that is about to ask about a file. */
function asking(name: string, bytes: Uint8Array) {
  const path = join(tempDir(), name);
  writeFileSync(path, bytes);
  const state = new ChatState({ id: "m" });
  state.attached = [readAttachment({ kind: "file", path })];
  return state;
}

/** Parts of the last message of a request. */
function sent(state: ChatState, text: string) {
  const question = state.question(text);
  const { prompt } = state.request(question, {}, false).run;
  if (prompt.type !== "chat") throw new Error("must be a chat");
  return { question, parts: prompt.messages.at(-1)?.content };
}

test.each<[string, Uint8Array, string]>([
  ["a.pdf", pdfOf(["It is banana."]), "[page 1]\nIt is banana."],
  ["b.docx", WORD, "It is cherry."],
])("%s is sent as its text, and comes back without it", (name, bytes, text) => {
  const state = asking(name, bytes);
  const { question, parts } = sent(state, "What is it?");
  expect(parts).toEqual([
    { type: "text", text: `File ${name}:\n\n${text}\n\n` },
    { type: "text", text: "What is it?" },
  ]);
  expect(state.giveBack(question)).toBe("What is it?");
  expect(sent(state, "Again?").parts).toHaveLength(2);
});

test("models with tools get the file, whose text the server reads", () => {
  const state = asking("b.docx", WORD);
  const { prompt } = state.request(state.question("What is it?"), { python: true }, false).run;
  expect(JSON.stringify(prompt)).not.toContain("It is cherry.");
  expect(JSON.stringify(prompt)).toContain('"type":"file"');
});

test("a saved chat has the file, and its text again once it is loaded", () => {
  const state = asking("b.docx", WORD);
  state.remember(state.question("What is it?"), "Cherry.");
  const path = join(tempDir(), "chat.json");
  saveChat(path, state);
  const loaded = new ChatState({ id: "m" });
  loaded.messages = loadChat(path).messages;
  const { prompt } = loaded.request(loaded.question("Sure?"), {}, false).run;
  expect(JSON.stringify(prompt)).toContain("It is cherry.");
});

test("what cannot be read is refused by name, other files go as they are", () => {
  expect(() => asking("c.pdf", Buffer.from("%PDF-1.4 nothing"))).toThrow(
    "c.pdf could not be read: it is not a readable PDF",
  );
  expect(() => asking("d.docx", Buffer.from("no archive"))).toThrow(
    "d.docx could not be read: it is damaged",
  );
  expect(sent(asking("e.txt", Buffer.from("hi")), "?").parts).toHaveLength(2);
});
