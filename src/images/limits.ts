// Limits of images, with their units and sources.

/** Files of pictures that are kept, all their bytes, and the life of each, milliseconds: that of the base dialect's links. */
export const IMAGE_FILES_MAX = 1000;
export const IMAGE_FILES_BYTES_MAX = 1024 * 1024 * 1024;
export const IMAGE_FILE_LIFE_MS = 60 * 60 * 1000;
