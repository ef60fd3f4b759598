// Interface of conversion: files that the engine does not read become some that it does.

import type { VideoFrame } from "./video.ts";

/** The field of a request that a file comes from, and the format of the file, for errors. */
export interface ConvertedFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly format: string;
  readonly param: string;
}

/** Frames of an animation or a single image, as PNG files. */
export interface Frames {
  readonly frames: readonly VideoFrame[];
  /** Frames or pages of the file. */
  readonly total: number;
}

/** A sound of one channel, as a WAV file. */
export interface Sound {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Of the original; undefined where it does not say. */
  readonly total: number | undefined;
}

/** Text of a document, "" if it has none, as a scan; or why it cannot be read, in words. */
export type DocumentText = { readonly text: string } | { readonly problem: string };

type Pages = Frames | { readonly problem: string };

/** A file that may be a document. */
export interface NamedFile {
  readonly name: string;
  readonly mimeType: string;
  /** UTF-8: it is read as it is, unless it claims to be a document. */
  readonly isText: boolean;
  readonly bytes: () => Promise<Uint8Array<ArrayBuffer> | undefined>;
}

/** Each throws ServiceError for a file that cannot be converted. */
export interface Converters {
  /** The image upright; at most `framesMax` of an animation, evenly spaced. */
  readonly image: (file: ConvertedFile, framesMax: number, signal: AbortSignal) => Promise<Frames>;
  /** Undefined for what is no PDF, no office document and no text of another encoding than UTF-8. */
  readonly document: (file: NamedFile, signal: AbortSignal) => Promise<DocumentText | undefined>;
  /** The first pages of a PDF as images, or why there are none, in words; undefined for another document. */
  readonly pages: (file: NamedFile, pagesMax: number, signal: AbortSignal) => Promise<Pages | undefined>;
  /** The first seconds. */
  readonly sound: (file: ConvertedFile, secondsMax: number, signal: AbortSignal) => Promise<Sound>;
}
