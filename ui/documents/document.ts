// Recognizes documents among files and extracts their text. The readers are loaded when they are first needed.

/** Text of a document. */
export interface DocumentText {
  readonly text: string;
  /** Pages, of a PDF. */
  readonly pages?: number;
}

type Kind = "pdf" | "office" | "html";

const KINDS: readonly (readonly [pattern: RegExp, kind: Kind])[] = [
  [/\.pdf$|^application\/pdf$/i, "pdf"],
  [/\.(?:docx|docm|xlsx|xlsm|pptx|pptm|odt|ods|odp)$/i, "office"],
  [/^application\/vnd\.(?:openxmlformats-officedocument|oasis\.opendocument)\./, "office"],
  [/\.x?html?$|^text\/html$|^application\/xhtml\+xml$/i, "html"],
];

/** Kind of a document; undefined for other files. */
export function documentKind(file: { readonly name: string; readonly mime: string }): Kind | undefined {
  return KINDS.find(([pattern]) => pattern.test(file.name) || pattern.test(file.mime))?.[1];
}

/** Text of a document. Throws an Error whose message completes "NAME could not be read: …". */
export async function readDocument(kind: Kind, name: string, bytes: Uint8Array): Promise<DocumentText> {
  switch (kind) {
    case "pdf":
      return (await import("./pdf.ts")).pdfText(bytes);
    case "office":
      return { text: (await import("./office.ts")).officeText(name, bytes) };
    case "html":
      return { text: (await import("../../src/reader/html-text.ts")).documentText(decodedText(bytes)) };
  }
}

/** Text of bytes: UTF-8, UTF-16 with its mark, the encoding that HTML names, else that of Western Windows. */
export function decodedText(bytes: Uint8Array): string {
  const head = new TextDecoder("latin1").decode(bytes.slice(0, HEAD_BYTES));
  const named = /<meta[^>]+charset=["']?\s*(?<label>[\w-]+)/i.exec(head)?.groups?.["label"];
  for (const label of [markOf(bytes), "utf-8", named]) {
    try {
      if (label !== undefined) return new TextDecoder(label, { fatal: true }).decode(bytes);
    } catch {
      // another encoding
    }
  }
  return new TextDecoder("windows-1252").decode(bytes);
}

/** Part of a page in which its encoding must be named, bytes. */
const HEAD_BYTES = 1024;

function markOf([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : undefined;
}
