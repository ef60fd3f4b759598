// Limits of reader, with their units and sources.

/** Elements and depth of a page up to which Readability runs; it then takes at most 1 second (measured). */
export const ARTICLE_ELEMENTS_MAX = 15_000;
export const ARTICLE_DEPTH_MAX = 150;
/** Characters below which an extracted article is rejected as wrong. */
export const ARTICLE_CHARS_MIN = 140;
/** Cells up to which the tables of a document are laid out in columns. */
export const TABLE_CELLS_MAX = 2000;
/** Pixels of a converted image; larger ones are made smaller. The encoders of known models take 3.2 million at most. */
export const CONVERTED_PIXELS_MAX = 4 * 1024 * 1024;
/** Frames of an animation that are looked at; those after them are left out. */
export const ANIMATION_FRAMES_MAX = 2000;
/** Memory of a reader process, bytes: the largest image that is accepted, decoded and packed again: 48 million pixels of HEIC take 600 to 850 MB. */
export const READER_DATA_BYTES_MAX = 2048 * 1024 * 1024;
/** Of it for compiled code. */
export const READER_CODE_BYTES = 64 * 1024 * 1024;
/** Longest edge of a page as an image, pixels: small print stays readable. */
export const PAGE_EDGE = 1500;
