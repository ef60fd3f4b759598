// Limits of reader, with their units and sources.

/** Elements and depth of a page up to which Readability runs; it then takes at most 1 second (measured). */
export const ARTICLE_ELEMENTS_MAX = 15_000;
export const ARTICLE_DEPTH_MAX = 150;
/** Characters below which an extracted article is rejected as wrong. */
export const ARTICLE_CHARS_MIN = 140;
/** Cells up to which the tables of a document are laid out in columns. */
export const TABLE_CELLS_MAX = 2000;
