// Names of uploaded files → paths inside one folder. Whatever could lead out of it, or be another file on another file
// system, is refused rather than mended.

import { SKILL_ENTRIES_MAX, SKILL_PATH_CHARS_MAX, SKILL_PATH_DEPTH_MAX } from "./limits.ts";
import { invalidSkill, shown } from "./invalid.ts";

/** The path as folders and a file name. Throws `invalid_skill_upload`. */
export function safePath(path: string): string {
  const parts = path.split("/");
  const isSafe =
    path.length <= SKILL_PATH_CHARS_MAX &&
    path.isWellFormed() &&
    parts.length <= SKILL_PATH_DEPTH_MAX &&
    !/[\\:\p{Cc}]/u.test(path) && // a colon is a drive or a stream on Windows
    parts.every((part) => part !== "" && part !== "." && part !== ".." && Buffer.byteLength(part) <= 255);
  if (isSafe) return path;
  throw invalidSkill(`the name ${shown(path)} is not a relative path of ordinary names`);
}

/** What packers add for themselves. */
export function isLitter(path: string): boolean {
  return /(?:^|\/)(?:__MACOSX\/|\.DS_Store$|Thumbs\.db$)/.test(path);
}

/** The paths of one upload: none twice, none a folder and a file at once, also where case does not count. */
export class PathSet {
  private readonly files = new Set<string>();
  private readonly folders = new Set<string>();

  add(path: string): void {
    const key = path.normalize("NFC").toLowerCase();
    const parts = key.split("/");
    const parents = parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
    if (this.files.has(key) || this.folders.has(key) || parents.some((parent) => this.files.has(parent))) {
      throw invalidSkill(`the name ${shown(path)} is taken by another file or folder of the upload`);
    }
    this.files.add(key);
    for (const parent of parents) this.folders.add(parent);
    if (this.files.size > SKILL_ENTRIES_MAX) throw tooMany();
  }
}

export function tooMany(): Error {
  return invalidSkill(`a skill may have at most ${SKILL_ENTRIES_MAX} files`);
}
