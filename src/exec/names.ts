// File names from untrusted names.

import { hash } from "node:crypto";
import { extname } from "node:path";

const NAME_CHARS_MAX = 64;
/** File systems accept 255 bytes; the rest is for the number of an equal name. */
const NAME_BYTES_MAX = 240;
/** The folder of skills. */
const SKILLS = "skills";

/**
 * Names of input files in the working directory, in order: the last part of each name, with `_` in place of control characters and of
 * leading dots; equal ones get `-2`, `-3` before the extension.
 */
export function mountedNames(names: readonly string[]): readonly string[] {
  const taken = new Set<string>([SKILLS]);
  return names.map((name) => {
    const plain = plainName(name);
    const ending = extname(plain);
    const stem = plain.slice(0, plain.length - ending.length);
    let candidate = plain;
    for (let n = 2; taken.has(candidate); n++) candidate = `${stem}-${n}${ending}`;
    taken.add(candidate);
    return candidate;
  });
}

/** Folder of a skill under skills/. */
export function skillFolder(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_") || "skill";
}

/** Folder of a session, whose id a client may choose: never a path, never another session's. */
export function sessionFolder(sessionId: string): string {
  const isPlain = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/.test(sessionId) && sessionId.length <= NAME_CHARS_MAX;
  if (isPlain) return sessionId;
  // Plain ids do not begin with a dot, so this is no other session's folder.
  return `.${hash("sha256", sessionId).slice(0, 32)}`;
}

function plainName(name: string): string {
  const base = name.toWellFormed().split(/[/\\]/).at(-1) ?? "";
  if (/^\.*$/.test(base)) return "file";
  return withinBytes(base.replaceAll(/\p{Cc}/gu, "_").replace(/^\.+/, "_"));
}

/** The end of a name that file systems accept, which has its extension. */
function withinBytes(name: string): string {
  let first = 0;
  while (Buffer.byteLength(name.slice(first)) > NAME_BYTES_MAX) first++;
  return name.slice(first).toWellFormed();
}
