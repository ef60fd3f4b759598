// What the page and the worker that reads documents say to each other.

/** Name of the worker's file beside the page; also in src/http/ui-bundle.ts. */
export const READER_FILE = "reader.js";

/** Characters of a document's text, and depth of the elements in its XML: far above any real one. */
export const TEXT_CHARS_MAX = 16 * 1024 * 1024;
export const DEPTH_MAX = 1000;

/** A document to read. */
export interface ReadTask {
  readonly kind: "office" | "html";
  readonly bytes: Uint8Array;
}

/** Why a document has no text; the words are in texts. */
export type Problem = "unknownKind" | "tooLargeUnpacked" | "damaged" | "tooLong" | "tooDeep" | "tooSlow";

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
