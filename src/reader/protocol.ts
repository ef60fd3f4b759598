// Messages between the server and a reader process: one job on stdin, one reply on stdout, both JSON.

import type { Kind, ReadReply } from "./documents/reading.ts";

/** Hidden command that starts the executable as a reader. */
export const READER_WORD = "read";

/** Text of a page. */
export interface Article {
  /** "" if the page has none. */
  readonly title: string;
  /** Paragraphs, lists and tables as plain text, without navigation. */
  readonly text: string;
}

/** A hit of a search engine. */
export interface Hit {
  readonly title: string;
  readonly description: string;
  readonly url: string;
}

/** A hit with its page's text; "" if it could not be read. */
export interface ReadHit extends Hit {
  readonly text: string;
}

export interface HitsPage {
  readonly hits: readonly Hit[];
  /** `refused`: the engine requires a CAPTCHA. `unknown`: not a result page. */
  readonly state: "found" | "nothing" | "refused" | "unknown";
}

/** A passage of a page. */
export interface Passage {
  /** Index of its hit. */
  readonly hit: number;
  /** Index within the page. */
  readonly index: number;
  readonly text: string;
}

/** An image to convert. */
export interface ImageTask {
  /** base64 */
  readonly data: string;
  /** Of an animation. */
  readonly framesMax: number;
  readonly framesPerSecond: number;
}

/** PNG files, and the frames or pages of the file; or why there are none. */
export type ImageReply =
  | {
      readonly frames: readonly { /** base64 */ readonly png: string; readonly seconds: number }[];
      readonly total: number;
    }
  | { readonly problem: "damaged" | "unsupported" | "tooLarge" };

/** A PDF to paint. */
export interface PagesTask {
  /** base64 */
  readonly data: string;
  readonly pagesMax: number;
}

/** An Ogg file to decode. */
export interface SoundTask {
  /** base64 */
  readonly data: string;
  readonly secondsMax: number;
}

/** Samples of one channel, 16 bits, at SOUND_RATE; or why there are none. */
export type SoundReply = { /** base64 */ readonly samples: string } | { readonly problem: "damaged" };

/** Tasks of a reader by name, with input and reply. HTML is already decoded. */
export interface ReaderTasks {
  readonly article: { readonly given: { readonly html: string }; readonly reply: Article };
  readonly duckduckgo: { readonly given: { readonly html: string }; readonly reply: HitsPage };
  readonly document: {
    readonly given: { readonly kind: Kind; /** base64 */ readonly data: string };
    readonly reply: ReadReply;
  };
  readonly image: { readonly given: ImageTask; readonly reply: ImageReply };
  readonly pages: { readonly given: PagesTask; readonly reply: ImageReply };
  readonly sound: { readonly given: SoundTask; readonly reply: SoundReply };
  readonly ranking: {
    readonly given: { readonly query: string; readonly hits: readonly ReadHit[] };
    readonly reply: readonly Passage[];
  };
}

export type ReaderTask = keyof ReaderTasks;

/** A job: a task with its input. */
export type ReadJob = {
  readonly [T in ReaderTask]: { readonly task: T } & ReaderTasks[T]["given"];
}[ReaderTask];
