// Converts names of uploaded files to paths inside one folder. Names that could leave it, or that differ between file systems,
// are refused, never repaired.

import { SKILL_ENTRIES_MAX, SKILL_PATH_CHARS_MAX, SKILL_PATH_DEPTH_MAX } from "./limits.ts";
import { invalidSkill, shown } from "./invalid.ts";

/** Validates a path. Throws `invalid_skill_upload`. */
export function safePath(path: string): string {
  const parts = path.split("/");
  const isSafe =
    path.length <= SKILL_PATH_CHARS_MAX &&
    path.isWellFormed() &&
    parts.length <= SKILL_PATH_DEPTH_MAX &&
    !/[\\:\p{Cc}]/u.test(path) && // on Windows a colon marks a drive or a stream
    parts.every((part) => part !== "" && part !== "." && part !== ".." && Buffer.byteLength(part) <= 255);
  if (isSafe) return path;
  throw invalidSkill(
    `the name ${shown(path)} is not a valid relative path; use / between names, without . and ..`,
  );
}

/** Metadata that archivers add, such as __MACOSX. */
export function isPackerMetadata(path: string): boolean {
  return /(?:^|\/)(?:__MACOSX\/|\.DS_Store$|Thumbs\.db$)/.test(path);
}

/** Paths of one upload: unique, none both folder and file, also on case-insensitive file systems. */
export class PathSet {
  private readonly files = new Set<string>();
  private readonly folders = new Set<string>();

  add(path: string): void {
    const key = path.normalize("NFC").toLowerCase();
    const parts = key.split("/");
    const parents = parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
    if (this.files.has(key) || this.folders.has(key) || parents.some((parent) => this.files.has(parent))) {
      throw invalidSkill(
        `the name ${shown(path)} is used by another file or folder of the upload; names must differ in more than case`,
      );
    }
    this.files.add(key);
    for (const parent of parents) this.folders.add(parent);
    if (this.files.size > SKILL_ENTRIES_MAX) throw tooMany();
  }
}

export function tooMany(): Error {
  return invalidSkill(`a skill may have at most ${SKILL_ENTRIES_MAX} files`);
}
