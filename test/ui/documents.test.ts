// Text of documents: office files, web pages, encodings; and which passages of a large file a question gets.

import { describe, expect, test } from "bun:test";
import { decodedText } from "../../src/reader/documents/decoded-text.ts";
import { officeText } from "../../src/reader/documents/office.ts";
import { readTask } from "../../src/reader/documents/text.ts";
import { append, type Attachment, type Conversation, type Excerpt } from "../../ui/state/conversation.ts";
import { excerptsFor, needsPassages } from "../../ui/state/passages.ts";
import { chatRequest } from "../../ui/state/request.ts";
import { emptyConversation } from "../../ui/state/transfer.ts";
import { documentKind, type Problem } from "../../src/reader/documents/reading.ts";
import { zipOf } from "../helpers/zip.ts";

test("documents are recognized by name or type", () => {
  expect(documentKind("a.PDF")).toBe("pdf");
  expect(documentKind("a", "application/pdf")).toBe("pdf");
  expect(documentKind("a.xlsx")).toBe("office");
  expect(documentKind("a", "application/vnd.oasis.opendocument.text")).toBe("office");
  expect(documentKind("a.htm")).toBe("html");
  expect(documentKind("a.txt", "text/plain")).toBeUndefined();
  expect(documentKind("docx.zip", "application/zip")).toBeUndefined();
});

describe("the text of an office document", () => {
  test("of Word has paragraphs, breaks, tables and notes, but nothing that was deleted", () => {
    const word = zipOf([
      {
        name: "word/document.xml",
        content: `<w:document><w:body>
          <w:p><w:r><w:t>One </w:t></w:r><w:r><w:t>&amp; two</w:t><w:tab/><w:t>tabbed</w:t></w:r></w:p>
          <w:p><w:r><w:t>Kept</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>
          <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc>
            <w:tc><w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
        </w:body></w:document>`,
      },
      { name: "word/footnotes.xml", content: "<w:footnotes><w:p><w:t>A note</w:t></w:p></w:footnotes>" },
    ]);
    expect(officeText(word)).toBe("One & two\ttabbed\nKept\na b\tc\n\nA note");
  });

  test("of Excel has sheets in their order, shared texts, gaps, dates and truth values", () => {
    const sheet = (rows: string) => `<worksheet><sheetData>${rows}</sheetData></worksheet>`;
    const excel = zipOf([
      {
        name: "xl/workbook.xml",
        content: `<workbook><sheets><sheet name="Costs" r:id="r2"/><sheet name="B" r:id="r1"/></sheets></workbook>`,
      },
      {
        name: "xl/_rels/workbook.xml.rels",
        content: `<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/>
          <Relationship Id="r2" Target="/xl/worksheets/sheet2.xml"/></Relationships>`,
      },
      {
        name: "xl/sharedStrings.xml",
        content: `<sst><si><t>Item</t><rPh><t>phonetic</t></rPh></si><si><r><t>Two </t></r><r><t>runs</t></r></si></sst>`,
      },
      {
        name: "xl/styles.xml",
        content: `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="[$-409]dd/mm/yyyy"/>
          <numFmt numFmtId="165" formatCode="0.0&quot;days&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>
          <cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
      },
      { name: "xl/worksheets/sheet1.xml", content: sheet(`<row><c r="A1" t="b"><v>1</v></c></row>`) },
      {
        name: "xl/worksheets/sheet2.xml",
        content: sheet(`<row><c r="A1" t="s"><v>0</v></c><c r="D1" t="s"><v>1</v></c></row><row/>
          <row><c r="A3" s="1"><v>45000</v></c><c r="B3" s="2"><f>A3*2</f><v>45000</v></c><c r="C3" s="3"><v>45000.5</v></c>
          <c r="D3" t="inlineStr"><is><t>inline</t></is></c></row>`),
      },
    ]);
    expect(officeText(excel)).toBe(
      "[sheet Costs]\nItem\t\t\tTwo runs\n2023-03-15\t45000\t2023-03-15 12:00\tinline\n\n[sheet B]\nTRUE",
    );
  });

  test("of PowerPoint has slides by number with their notes", () => {
    const slide = (text: string) => `<p:sld><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sld>`;
    const deck = zipOf([
      { name: "ppt/presentation.xml", content: "<p:presentation/>" },
      { name: "ppt/slides/slide10.xml", content: slide("Ten") },
      { name: "ppt/slides/slide2.xml", content: slide("Two") },
      { name: "ppt/notesSlides/notesSlide2.xml", content: slide("Say hello") },
    ]);
    expect(officeText(deck)).toBe("[slide 2]\nTwo\nNotes: Say hello\n\n[slide 10]\nTen");
  });

  test("of OpenDocument has headings, spaces and tables", () => {
    const content = `<office:text><text:h>Title</text:h><text:p>a<text:s/>b<office:annotation><text:p>comment</text:p>
      </office:annotation></text:p><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell>
      <table:table-cell><text:p>y</text:p></table:table-cell></table:table-row></office:text>`;
    expect(officeText(zipOf([{ name: "content.xml", content }]))).toBe("Title\na b\nx\ty");
  });

  test("that cannot be read is refused with a reason", () => {
    expect(() => officeText(Buffer.from("no archive"))).toThrow("damaged");
    expect(() => officeText(zipOf([{ name: "other.xml" }]))).toThrow("unknownKind");
    const bomb = zipOf([{ name: "word/document.xml", content: "x", size: 2 ** 31 }]);
    expect(() => officeText(bomb)).toThrow("tooLargeUnpacked");
  });
});

describe("a small office document with a large text", () => {
  const book = (strings: string, cells: string) =>
    zipOf([
      {
        name: "xl/workbook.xml",
        content: `<workbook><sheets><sheet name="A" r:id="r"/></sheets></workbook>`,
      },
      {
        name: "xl/_rels/workbook.xml.rels",
        content: `<R><Relationship Id="r" Target="worksheets/a.xml"/></R>`,
      },
      { name: "xl/sharedStrings.xml", content: `<sst><si><t>${strings}</t></si></sst>` },
      { name: "xl/worksheets/a.xml", content: `<worksheet><row>${cells}</row></worksheet>` },
    ]);
  const word = (content: string) => zipOf([{ name: "word/document.xml", content }]);

  test.each<[string, Uint8Array, string]>([
    [
      "one shared text in many cells",
      book("x".repeat(1_000_000), '<c t="s"><v>0</v></c>'.repeat(1000)),
      "tooLong",
    ],
    ["nested paragraphs", word("<w:p>".repeat(2_000_000)), "tooDeep"],
    ["nested cells", word("<w:tc>".repeat(500_000)), "tooDeep"],
    ["nested strings", book("<t>".repeat(500_000), ""), "tooDeep"],
  ])("is refused at once: %s", (_, bytes, problem) => {
    const start = performance.now();
    expect(readTask({ kind: "office", bytes })).toEqual({ problem: problem as Problem });
    expect(performance.now() - start).toBeLessThan(5000);
  });
});

test("web pages are read in their encoding, whole and without markup", () => {
  const page = Buffer.from(
    `<html><head><meta charset="iso-8859-1"><title>T</title><style>p{}</style></head>
     <body><nav>Menu</nav><p>caf\xe9</p><script>no()</script><table><tr><td>a</td><td>b</td></tr></table></body></html>`,
    "latin1",
  );
  const reply = readTask({ kind: "html", bytes: page });
  const text = "text" in reply ? reply.text : "";
  expect(text).toContain("Menu");
  expect(text).toContain("café");
  expect(text).toMatch(/a +b/);
  expect(text).not.toContain("no()");
  expect(decodedText(Buffer.from("\ufeffhé", "utf16le"))).toBe("hé");
  expect(decodedText(Buffer.from([0x93, 0x61, 0x94]))).toBe("“a”");
});

test.each([
  ["below many unclosed elements", "<b>".repeat(900) + "end"],
  ["behind a long script", `<script>${"x".repeat(2 ** 24)}</script>end`],
])("the text of a web page is whole: %s", (_, page) => {
  expect(readTask({ kind: "html", bytes: Buffer.from(page) })).toEqual({ text: "end" });
});

test("a web page whose parser would take minutes is refused at once", () => {
  const bytes = Buffer.from("<b></i>".repeat(200_000));
  expect(readTask({ kind: "html", bytes })).toEqual({ problem: "tooDeep" });
});

describe("a file that does not fit", () => {
  const file = (name: string, text: string): Attachment => ({
    name,
    mime: "text/plain",
    bytes: text.length,
    data: "data:text/plain;base64,",
    text,
  });
  const paragraph = (i: number) =>
    `Paragraph ${i} is about ${i === 70 ? "the walrus" : "fish"}. ${"Words. ".repeat(150)}`;
  const long = file("long.txt", Array.from({ length: 100 }, (_, i) => paragraph(i)).join("\n\n"));
  const short = file("short.txt", "A short file.");
  const conversation = emptyConversation("c", 1);
  const asked = (question: string, attachments: Attachment[], before: Conversation = conversation) =>
    excerptsFor({ question, attachments, conversation: before, budget: 8000 });
  const indexes = (excerpt: Excerpt | undefined) => excerpt?.passages.map(({ index }) => index) ?? [];

  test("is sent as the passages that suit the question, and its beginning where these are few", async () => {
    expect(needsPassages({ question: "", attachments: [short], conversation, budget: 8000 })).toBe(false);
    expect(needsPassages({ question: "", attachments: [long, short], conversation, budget: 8000 })).toBe(
      true,
    );
    const excerpts = await asked("What of the walrus?", [long, short]);
    expect(excerpts.map(({ file: name, total }) => [name, total])).toEqual([["long.txt", 100]]);
    expect(indexes(excerpts[0])).toContain(70);
    expect(indexes(excerpts[0])).toContain(0);
    expect(indexes(excerpts[0])).toEqual(indexes(excerpts[0]).toSorted((a, b) => a - b));
    const question = { id: "q", parent: null, role: "user" as const, text: "What of the walrus?" };
    const body = chatRequest(append(conversation, { ...question, attachments: [long, short], excerpts }), {
      id: "m",
      context_length: 8000,
    });
    const sent = JSON.stringify(body["messages"]);
    expect(sent).toContain(`${excerpts[0]?.passages.length} of its 100 passages`);
    expect(sent).toContain("[passage 71]");
    expect(sent).toContain("A short file.");
  });

  test("is searched again by later questions, for passages that were not sent", async () => {
    const excerpts = await asked("Tell me about paragraph 0", [long]);
    const question = {
      id: "q",
      parent: null,
      role: "user" as const,
      text: "",
      attachments: [long],
      excerpts,
    };
    const before = append(conversation, question);
    expect(indexes(excerpts[0])).not.toContain(70);
    const later = await asked("And the walrus?", [], before);
    expect(indexes(later[0])).toContain(70);
    const after = append(before, { ...question, id: "q2", parent: "q", attachments: [], excerpts: later });
    expect(JSON.stringify(chatRequest(after)["messages"])).toContain("More of file long.txt");
    expect(await asked("The walrus once more", [], after)).toEqual([]);
  });
});

test("a document without text is named, not shown", () => {
  const attachments = [
    {
      name: "scan.pdf",
      mime: "application/pdf",
      bytes: 3,
      data: "data:application/pdf;base64,AAAA",
      text: "",
    },
  ];
  const images = ["data:image/jpeg;base64,AAAA"];
  const said = (files: Attachment[]) =>
    append(emptyConversation("c", 1), { id: "q", parent: null, role: "user", text: "?", attachments: files });
  const types = (files: Attachment[], card: Parameters<typeof chatRequest>[1]) => {
    const [message] = chatRequest(said(files), card)["messages"] as { content: { type: string }[] }[];
    return message?.content.map(({ type }) => type);
  };
  expect(types(attachments, { id: "m" })).toEqual(["file", "text"]);
  const seen = attachments.map((file) => ({ ...file, images, pages: 1 }));
  expect(types(seen, { id: "m", modalities: ["image"] })).toEqual(["image_url", "text"]);
  expect(types(seen, { id: "m", modalities: [] })).toEqual(["file", "text"]);
});
