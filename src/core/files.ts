// Interface of the file store: files that clients upload, send inline or by address, and files that tools produce. Spec: Files.

import type { FileObject, SourceMeta } from "./agent.ts";

/** Metadata of a file. */
export interface StoredFile extends Pick<
  FileObject,
  "id" | "name" | "format" | "bytes" | "purpose" | "source"
> {
  readonly mimeType: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** Text is valid UTF-8 without NUL. */
  readonly isText: boolean;
  /** Beginning of a text. */
  readonly preview?: string;
  /** Whether the preview is all of the text. */
  readonly isPreviewWhole?: boolean;
  /** Why there is no such file: an output that was not made. */
  readonly failure?: { readonly code: string; readonly message: string };
  /** Sessions that the file belongs to. */
  readonly sessions: readonly string[];
}

/** Name and origin of a file to store. */
export interface NewFile {
  /** A fresh one unless given; a file of that id is replaced. */
  readonly id?: string;
  readonly name: string;
  /** Both are taken from the name unless given. */
  readonly format?: string;
  readonly mimeType?: string;
  readonly purpose: string;
  readonly source: SourceMeta;
  readonly sessionId?: string;
}

/** Files by id, each for a limited time. */
export interface Files {
  /** Stores a file; resolves once it is safe. Throws `payload_too_large`, `storage_unavailable`. */
  add(file: NewFile, pieces: readonly Uint8Array<ArrayBuffer>[]): Promise<StoredFile>;
  /** Notes that an expected file was not made. */
  addFailure(file: NewFile, failure: { readonly code: string; readonly message: string }): StoredFile;
  /** Undefined when unknown or expired. */
  get(id: string): StoredFile | undefined;
  /** Undefined for a failure, and after the body was evicted. */
  body(id: string): Blob | undefined;
  /** Whether `body` gives one. */
  hasBody(id: string): boolean;
  /** Adds a file to a session. */
  join(id: string, sessionId: string): void;
  /** False when there was none. */
  delete(id: string): boolean;
  /** Oldest first; those of one session if one is named. */
  list(sessionId?: string): readonly StoredFile[];
  /** A file as events and bodies show it, with its body if it is small enough, or without. */
  object(file: StoredFile, withBody?: boolean): Promise<FileObject>;
}
