// Search provider interface and the HTTP client for it. The provider's URL is configured by the operator and may be private.

import {
  SEARCH_ANSWER_BYTES_MAX,
  SEARCH_HITS_MAX,
  SEARCH_LABEL_CHARS_MAX,
  SEARCH_PROVIDER_MS,
} from "./limits.ts";
import { VERSION } from "../core/version.ts";
import { visibleLine } from "../core/visible-text.ts";
import { boundedText } from "../core/bounded-body.ts";
import type { Hit } from "../reader/protocol.ts";
import { SearchFailure } from "./failure.ts";

export type { Hit } from "../reader/protocol.ts";

/** Finds hits, best first. Throws SearchFailure, or the signal's reason. */
export type SearchProvider = (query: string, signal: AbortSignal) => Promise<readonly Hit[]>;

export interface ProviderOptions {
  /** Overrides the default URL. */
  readonly url?: string;
  /** For request and response together, milliseconds. */
  readonly timeoutMs?: number;
  /** What to do about an HTTP status, for the operator. */
  readonly hints?: Readonly<Record<number, string>>;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/**
 * GETs a provider's response of any status. Redirects are not followed: they would leak the key. Throws SearchFailure, or
 * the signal's reason.
 */
export async function getAnswer(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { timeoutMs = SEARCH_PROVIDER_MS }: ProviderOptions,
  signal: AbortSignal,
): Promise<Answer> {
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      headers: { "user-agent": `svc/${VERSION}`, ...headers },
      redirect: "manual",
      signal: AbortSignal.any([signal, deadline]),
    });
    return {
      status: response.status,
      text: await boundedText(response.body, SEARCH_ANSWER_BYTES_MAX, tooLarge),
    };
  } catch (cause) {
    if (cause instanceof SearchFailure || signal.aborted) throw cause;
    const what = deadline.aborted
      ? `did not answer within ${timeoutMs / 1000} seconds`
      : "could not be reached";
    throw new SearchFailure(`the search provider ${what}`, { cause });
  }
}

/** GETs JSON; a status other than 2xx is a failure. */
export async function getJson(...asked: Parameters<typeof getAnswer>): Promise<unknown> {
  const { status, text } = await getAnswer(...asked);
  if (status < 200 || status > 299) {
    const hint = asked[2].hints?.[status];
    const advice = hint === undefined ? "" : `; ${hint}`;
    throw new SearchFailure(`the search provider responded with HTTP status ${status}${advice}`);
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SearchFailure("the search provider's response is not JSON", { cause });
  }
}

const tooLarge = (): Error =>
  new SearchFailure(`the search provider's response is larger than ${SEARCH_ANSWER_BYTES_MAX} bytes`);

/** Removes duplicates and hits without an http(s) URL; limits label lengths. */
export function tidyHits(hits: readonly Hit[]): readonly Hit[] {
  const seen = new Set<string>();
  const tidy = hits.flatMap(({ title, description, url }) => {
    const address = URL.parse(url);
    if (address === null || !/^https?:$/.test(address.protocol) || seen.has(address.href)) return [];
    seen.add(address.href);
    return [
      {
        title: visibleLine(title, SEARCH_LABEL_CHARS_MAX) || address.href,
        description: visibleLine(description, SEARCH_LABEL_CHARS_MAX),
        url: address.href,
      },
    ];
  });
  return tidy.slice(0, SEARCH_HITS_MAX);
}
