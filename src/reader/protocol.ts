// What the serving process and a reader process say to each other: one job on its input, one reply on its output, both
// JSON.

/** The hidden word that makes the executable a reader. */
export const READER_WORD = "read";

/** What a page says. */
export interface Article {
  /** "" where the page has none. */
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

/** A hit with what its page says; "" where that could not be had. */
export interface ReadHit extends Hit {
  readonly text: string;
}

export interface HitsPage {
  readonly hits: readonly Hit[];
  /** `refused`: the engine takes us for a robot. `unknown`: it is no page of hits. */
  readonly state: "found" | "nothing" | "refused" | "unknown";
}

/** A piece of a page. */
export interface Passage {
  /** Position of its hit. */
  readonly hit: number;
  /** Position within the page. */
  readonly index: number;
  readonly text: string;
}

/** What a reader can do, by name: what it is given and what comes back. HTML is decoded already. */
export interface ReaderTasks {
  readonly article: { readonly given: { readonly html: string }; readonly reply: Article };
  readonly duckduckgo: { readonly given: { readonly html: string }; readonly reply: HitsPage };
  readonly ranking: {
    readonly given: { readonly query: string; readonly hits: readonly ReadHit[] };
    readonly reply: readonly Passage[];
  };
}

export type ReaderTask = keyof ReaderTasks;

/** One job of any kind. */
export type ReadJob = {
  readonly [T in ReaderTask]: { readonly task: T } & ReaderTasks[T]["given"];
}[ReaderTask];
