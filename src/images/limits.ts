// Limits of images, with their units and sources.

/** Image files kept: count, total bytes, and lifetime, milliseconds (as the links of the base dialect). */
export const IMAGE_FILES_MAX = 1000;
export const IMAGE_FILES_BYTES_MAX = 1024 * 1024 * 1024;
export const IMAGE_FILE_LIFE_MS = 60 * 60 * 1000;
