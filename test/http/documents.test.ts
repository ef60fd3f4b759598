// Documents of requests: text of PDFs and office files, as the page reads it; pages of a scan as images where the model sees.

import { expect, test } from "bun:test";
import { decode } from "fast-png";
import { ANY_MEDIA, type MediaRules, NO_MEDIA } from "../../src/core/media.ts";
import { documentReader } from "../../src/media/documents.ts";
import { ReaderFailure, readerProcesses, type RunReader } from "../../src/reader/process.ts";
import { CONVERTS_NOTHING, messagesOf } from "../helpers/agent.ts";
import { chatBody, messagesBody, responsesBody, testApp } from "../helpers/app.ts";
import { docxOf, pdfOf } from "../helpers/documents.ts";
import { fakeModel } from "../helpers/fake-model.ts";
import { mediaFixture } from "../helpers/media-fixtures.ts";

const run = readerProcesses({ timeoutMs: 30_000, atOnce: 2 });

function setUp(media: MediaRules = NO_MEDIA, reader: RunReader = run) {
  const { generate, requests } = fakeModel();
  const app = testApp(generate, { media, converters: { ...CONVERTS_NOTHING, ...documentReader(reader) } });
  const parts = () => messagesOf(requests.at(-1)).flatMap(({ content }) => content);
  const text = () => parts().flatMap((part) => (part.type === "text" ? [part.text] : []));
  const ask = async (path: string, body: object) => {
    const response = await app.post(path, body);
    expect(response.status).toBe(200);
    return (await response.json()) as { readonly cut_files?: unknown };
  };
  return { app, parts, text, ask };
}

const pdf = new Uint8Array(pdfOf(["The secret code is 7413."])).toBase64();
const docx = docxOf("<w:p><w:r><w:t>The meeting is on Friday.</w:t></w:r></w:p>").toBase64();
const scan = mediaFixture("scan.pdf").toBase64();
const chatFile = (filename: string, file_data: string) => ({ type: "file", file: { filename, file_data } });
const chat = (...content: readonly object[]) => chatBody({ messages: [{ role: "user", content }] });

test("the text of a PDF and of an office file reaches the model, in every dialect with files", async () => {
  const { ask, text } = setUp();
  const answer = await ask("/v1/chat/completions", chat(chatFile("a.pdf", pdf), chatFile("b.docx", docx)));
  expect(text().join("\n")).toContain("The secret code is 7413.");
  expect(text().join("\n")).toContain("The meeting is on Friday.");
  expect(text().join("\n")).not.toContain("%PDF");
  expect(answer).not.toHaveProperty("cut_files");

  const input = [{ role: "user", content: [{ type: "input_file", filename: "a.pdf", file_data: pdf }] }];
  await ask("/v1/responses", responsesBody({ input }));
  expect(text().join("\n")).toContain("The secret code is 7413.");

  const source = { type: "base64", media_type: "application/pdf", data: pdf };
  const content = [{ type: "document", title: "a.pdf", source }];
  await ask("/v1/messages", messagesBody({ messages: [{ role: "user", content }] }));
  expect(text().join("\n")).toContain("[File: a.pdf]\n[page 1]\nThe secret code is 7413.");
});

test("a document costs the same prompt at every turn", async () => {
  const { ask, text } = setUp();
  await ask("/v1/chat/completions", chat(chatFile("a.pdf", pdf)));
  const first = text();
  await ask("/v1/chat/completions", chat(chatFile("a.pdf", pdf)));
  expect(text()).toEqual(first);
});

test("pages of a scan are images for a model that sees; another model's answer says what it lacks", async () => {
  const sees = setUp({ ...ANY_MEDIA, modalities: ["image"] });
  await sees.ask("/v1/chat/completions", chat(chatFile("scan.pdf", scan)));
  const [image] = sees.parts().flatMap((part) => (part.type === "image" ? [part.data] : []));
  const { width, height, data, channels } = decode(Uint8Array.fromBase64(image ?? ""));
  expect([width, height]).toEqual([1125, 1500]);
  const middle = (Math.floor(height / 2) * width + Math.floor(width / 2)) * channels;
  expect(data[middle]).toBeGreaterThan(240); // red
  expect(data[middle + 2]).toBeLessThan(15);

  const reads = setUp();
  const answer = await reads.ask("/v1/chat/completions", chat(chatFile("scan.pdf", scan)));
  expect(reads.text().join("\n")).toContain("it has no text, as a scan");
  expect(answer).toMatchObject({ cut_files: [{ name: "scan.pdf", shown_characters: 0 }] });
});

test.each([
  ["takes too long", true, "they take too long to paint"],
  ["kills its process", false, "they take too long to paint"],
])("a scan whose painting %s is told with that cause to a model that sees", async (_, isLate, cause) => {
  const paintsNothing: RunReader = async (task, given, signal) => {
    if (task === "pages") throw new ReaderFailure(isLate);
    return run(task, given, signal);
  };
  const { ask, text } = setUp({ ...ANY_MEDIA, modalities: ["image"] }, paintsNothing);
  const answer = await ask("/v1/chat/completions", chat(chatFile("scan.pdf", scan)));
  expect(text().join("\n")).toContain(`its pages cannot be shown: ${cause}]`);
  expect(answer).toMatchObject({ cut_files: [{ name: "scan.pdf", shown_characters: 0 }] });
});

test("a damaged document is no error of the request, and the answer says so", async () => {
  const { ask, text } = setUp();
  const answer = await ask("/v1/chat/completions", chat(chatFile("a.pdf", "aGVsbG8g/w==")));
  expect(text().join("\n")).toContain("[The text of a.pdf cannot be read: it is not a readable PDF]");
  expect(answer).toMatchObject({ cut_files: [{ name: "a.pdf", shown_characters: 0 }] });
});

test("a text in UTF-16 or in an older encoding reaches the model, and another binary file is told as one", async () => {
  const { ask, text } = setUp();
  const utf16 = Buffer.from("\uFEFFName;Größe\nÖl;3", "utf16le").toString("base64");
  const shiftJis = Uint8Array.fromHex("938c8b9e82cc93568b43").toBase64();
  const noise = new Uint8Array([0, 1, 2, 255]).toBase64();
  const files = [chatFile("a.csv", utf16), chatFile("b.txt", shiftJis), chatFile("c.bin", noise)];
  await ask("/v1/chat/completions", chat(...files));
  expect(text().join("\n")).toContain("Name;Größe\nÖl;3");
  expect(text().join("\n")).toContain("東京の天気");
  expect(text().join("\n")).toContain("c.bin (application/octet-stream, 4 bytes): not text");
});
