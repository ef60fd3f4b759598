// Limits of skills, with their units and sources.

/** Skills, and versions of a skill. */
export const STORED_SKILLS_MAX = 1024;
export const SKILL_VERSIONS_MAX = 1024;
/** Files of a skill, bytes of a file and of all files, unpacked. Spec: agent runtime. */
export const SKILL_ENTRIES_MAX = 500;
export const SKILL_FILE_BYTES_MAX = 50 * 1024 * 1024;
export const SKILL_BYTES_MAX = 200 * 1024 * 1024;
/** Characters and segments of a path in a skill. */
export const SKILL_PATH_CHARS_MAX = 1024;
export const SKILL_PATH_DEPTH_MAX = 32;
/** Characters of a SKILL.md's front matter, and of its values. */
export const SKILL_HEAD_CHARS_MAX = 65_536;
export const SKILL_NAME_CHARS_MAX = 256;
export const SKILL_DESCRIPTION_CHARS_MAX = 8192;
/** Depth and lines of a skill's file tree in the prompt. */
export const SKILL_TREE_DEPTH_MAX = 4;
export const SKILL_TREE_LINES_MAX = 80;
/** Age at which an unfinished upload counts as abandoned, milliseconds. */
export const SKILL_LEFTOVER_MS = 60 * 60 * 1000;
