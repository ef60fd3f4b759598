// Limits of skills, with their units and sources.

/** Skills, and versions of one. */
export const STORED_SKILLS_MAX = 1024;
export const SKILL_VERSIONS_MAX = 1024;
/** Files of a skill, bytes of one and of all, unpacked. Spec: agent runtime. */
export const SKILL_ENTRIES_MAX = 500;
export const SKILL_FILE_BYTES_MAX = 50 * 1024 * 1024;
export const SKILL_BYTES_MAX = 200 * 1024 * 1024;
/** Characters of a path in a skill, and how many names it may have. */
export const SKILL_PATH_CHARS_MAX = 1024;
export const SKILL_PATH_DEPTH_MAX = 32;
/** Characters of a SKILL.md's head, and of what it says. */
export const SKILL_HEAD_CHARS_MAX = 65_536;
export const SKILL_NAME_CHARS_MAX = 256;
export const SKILL_DESCRIPTION_CHARS_MAX = 8192;
/** Depth and lines of the file tree that the model is shown of a skill. */
export const SKILL_TREE_DEPTH_MAX = 4;
export const SKILL_TREE_LINES_MAX = 80;
/** Age at which an unfinished upload is taken for a forgotten one, milliseconds. */
export const SKILL_LEFTOVER_MS = 60 * 60 * 1000;
