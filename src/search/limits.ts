// Limits of search, with their units and sources.

/** Hits of one search whose pages are read, and domains that a query names as `site:` terms. */
export const SEARCH_HITS_MAX = 10;
export const SEARCH_SITE_TERMS_MAX = 8;
/** Timeout of a search provider, milliseconds, and bytes of its response. Spec: agent runtime. */
export const SEARCH_PROVIDER_MS = 10_000;
export const SEARCH_ANSWER_BYTES_MAX = 2 * 1024 * 1024;
/** Characters of a query, and of the title and the description of a hit. */
export const SEARCH_QUERY_CHARS_MAX = 2000;
export const SEARCH_LABEL_CHARS_MAX = 500;
/** Bytes of a page; timeouts of one page and of all pages of a search, milliseconds. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024;
export const PAGE_FETCH_MS = 10_000;
export const PAGES_MS = 20_000;
/** Concurrent page fetches and reader processes, over all requests. */
export const PAGE_FETCHES_MAX = 16;
export const READERS_MAX = 2;
/** Timeout of a reader process for one page, milliseconds; typical pages take 100 ms. */
export const READ_MS = 6_000;
/** Characters of a page that are read. */
export const PAGE_CHARS_MAX = 100_000;
/** Minimum characters of a cut passage. */
export const RESULT_PIECE_CHARS_MIN = 200;
/** Attempts to fit the results to their budget. */
export const SEARCH_FITS_MAX = 4;
