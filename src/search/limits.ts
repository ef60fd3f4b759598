// Limits of search, with their units and sources.

/** Hits of one search whose pages are read, and searches at a provider that name their domains in the query. */
export const SEARCH_HITS_MAX = 10;
export const SEARCH_SITE_TERMS_MAX = 8;
/** Time a search provider has, and bytes of its answer. Spec: agent runtime. */
export const SEARCH_PROVIDER_MS = 10_000;
export const SEARCH_ANSWER_BYTES_MAX = 2 * 1024 * 1024;
/** Characters of a query, and of the title and the description of a hit. */
export const SEARCH_QUERY_CHARS_MAX = 2000;
export const SEARCH_LABEL_CHARS_MAX = 500;
/** Bytes of a page, time to fetch it, and time for all pages of a search, milliseconds. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024;
export const PAGE_FETCH_MS = 10_000;
export const PAGES_MS = 20_000;
/** Pages fetched at the same time, and pages taken apart, over all requests. */
export const PAGE_FETCHES_MAX = 16;
export const READERS_MAX = 2;
/** Time a reader process has for one page, milliseconds; ordinary ones take a tenth of a second. */
export const READ_MS = 6_000;
/** Characters of a page that are looked at. */
export const PAGE_CHARS_MAX = 100_000;
/** Characters below which the beginning of a passage is not worth telling. */
export const RESULT_PIECE_CHARS_MIN = 200;
/** Guesses at how much of the results fits their budget. */
export const SEARCH_FITS_MAX = 4;
