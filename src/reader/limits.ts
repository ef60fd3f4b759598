// Limits of reader, with their units and sources.

/** Elements of a page, and their depth, up to which its article is picked out: a second at most, measured. */
export const ARTICLE_ELEMENTS_MAX = 15_000;
export const ARTICLE_DEPTH_MAX = 150;
/** Characters below which an article is taken for a mistake. */
export const ARTICLE_CHARS_MIN = 140;
