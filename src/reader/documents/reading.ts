// Kinds of documents, and what a reader answers about one.

/** Characters of a document's text, and depth of the elements in its XML: far above any real one. */
export const TEXT_CHARS_MAX = 16 * 1024 * 1024;
export const DEPTH_MAX = 1000;

export type Kind = "pdf" | "office" | "html";

const KINDS: readonly (readonly [pattern: RegExp, kind: Kind])[] = [
  [/\.pdf$|^application\/pdf$/i, "pdf"],
  [/\.(?:docx|docm|xlsx|xlsm|pptx|pptm|odt|ods|odp)$/i, "office"],
  [/^application\/vnd\.(?:openxmlformats-officedocument|oasis\.opendocument)\./, "office"],
  [/\.x?html?$|^text\/html$|^application\/xhtml\+xml$/i, "html"],
];

/** Kind of a document by its name, or by its MIME type; undefined for other files. */
export function documentKind(name: string, mime = ""): Kind | undefined {
  return KINDS.find(([pattern]) => pattern.test(name) || pattern.test(mime))?.[1];
}

/** Why a document has no text. */
export type Problem =
  | "unknownKind"
  | "tooLargeUnpacked"
  | "damaged"
  | "tooLong"
  | "tooDeep"
  | "tooSlow"
  | "needsPassword"
  | "notPdf";

/** The same in words, after the name of the document. */
export const DOCUMENT_PROBLEMS: Readonly<Record<Problem, string>> = {
  unknownKind: "it is no document of a known kind",
  tooLargeUnpacked: "it is too large when unpacked",
  damaged: "it is damaged, or locked by a password",
  tooLong: "it has more text than a conversation can hold",
  tooDeep: "its elements are nested too deeply",
  tooSlow: "it takes too long to read",
  needsPassword: "it needs a password; save a copy without one",
  notPdf: "it is not a readable PDF",
};

export type ReadReply = { readonly text: string } | { readonly problem: Problem };

export class DocumentProblem extends Error {
  readonly problem: Problem;

  constructor(problem: Problem, options?: ErrorOptions) {
    super(problem, options);
    this.problem = problem;
  }
}

/** Pieces of text, of limited length all together. Throws DocumentProblem. */
export class Pieces {
  private readonly pieces: string[] = [];
  private chars = 0;

  get count(): number {
    return this.pieces.length;
  }

  push(piece: string): void {
    this.chars += piece.length;
    if (this.chars > TEXT_CHARS_MAX) throw new DocumentProblem("tooLong");
    this.pieces.push(piece);
  }

  /** Takes the pieces from `index` on out. */
  takeFrom(index: number): string {
    return this.pieces.splice(index).join("");
  }

  text(): string {
    return this.pieces.join("");
  }
}
