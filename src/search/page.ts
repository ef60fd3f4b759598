// One web page as plain text, in bounded time and memory. Third-party content: parsed only in a reader process.

import { isUtf8 } from "node:buffer";
import sniffEncoding from "html-encoding-sniffer";
import { PAGE_BYTES_MAX, PAGE_CHARS_MAX, PAGE_FETCH_MS, PAGE_FETCHES_MAX } from "./limits.ts";
import { type Fetched, FetchError, type PublicFetch } from "../net/public-fetch.ts";
import { visibleText } from "../core/visible-text.ts";
import { SearchFailure } from "./failure.ts";
import type { Read } from "./reader.ts";
import { Semaphore } from "../core/semaphore.ts";

export interface Page {
  /** Final URL, after redirects. */
  readonly url: string;
  /** "" if it has none. */
  readonly title: string;
  readonly text: string;
}

/** Fetches a page and reads it. Throws SearchFailure, or the signal's reason. */
export type GetPage = (url: string, signal: AbortSignal) => Promise<Page>;

export interface PageDeps {
  readonly fetchPublic: PublicFetch;
  readonly read: Read;
}

const ACCEPT = "text/html, application/xhtml+xml, text/plain;q=0.9, application/json;q=0.8, text/*;q=0.7";

export function pageGetter({ fetchPublic, read }: PageDeps): GetPage {
  const slots = new Semaphore(PAGE_FETCHES_MAX);
  const options = { bytesMax: PAGE_BYTES_MAX, timeoutMs: PAGE_FETCH_MS, accept: ACCEPT };
  return async (url, signal) => {
    const fetched = await slots.run(() => fetchPublic(url, options, signal), signal).catch(toFailure);
    const kind = kindOf(fetched);
    const bytes = await new Blob([...fetched.pieces]).bytes();
    const text = decoded(bytes, fetched.charset, kind === "html");
    const isHtml = kind === "html" || (kind === "unknown" && /^\s*</.test(text));
    const { title, text: content } = isHtml
      ? await read("article", { html: text }, signal)
      : { title: "", text: visibleText(text.slice(0, 2 * PAGE_CHARS_MAX)) };
    if (content.trim() === "") throw new SearchFailure("the page has no text");
    return { url: fetched.url, title, text: content.slice(0, PAGE_CHARS_MAX) };
  };
}

function toFailure(error: unknown): never {
  throw error instanceof FetchError
    ? new SearchFailure(`the page could not be fetched: ${error.message}`, { cause: error })
    : error;
}

const TEXT_TYPES = /^(?:text\/.*|application\/(?:.*\+)?(?:json|xml|yaml|javascript))$/;

function kindOf({ mimeType }: Fetched): "html" | "text" | "unknown" {
  if (mimeType === undefined || mimeType === "") return "unknown";
  if (mimeType === "text/html" || mimeType === "application/xhtml+xml") return "html";
  if (TEXT_TYPES.test(mimeType)) return "text";
  const shown = mimeType.slice(0, 80);
  throw new SearchFailure(`the page is of type ${shown}; only HTML, JSON and other text can be read`);
}

/** Decodes bytes by the charset of server, byte order mark or page; default UTF-8, else Windows-1252. */
function decoded(bytes: Uint8Array, charset: string | undefined, isHtml: boolean): string {
  const options = {
    xml: !isHtml, // plain text has no <meta>
    transportLayerEncodingLabel: charset,
    defaultEncoding: isUtf8(bytes) ? "utf-8" : "windows-1252",
  };
  const text = decoderOf(sniffEncoding(bytes, options)).decode(bytes);
  if (text.slice(0, 4096).includes("\0")) throw new SearchFailure("the page is not text");
  return text;
}

/** The standard defines a "replacement" encoding that TextDecoder rejects. */
function decoderOf(encoding: string): TextDecoder {
  try {
    return new TextDecoder(encoding);
  } catch {
    return new TextDecoder();
  }
}
