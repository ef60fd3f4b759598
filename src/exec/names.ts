// File names from untrusted names.

import { createHash } from "node:crypto";
import { extname } from "node:path";

const NAME_CHARS_MAX = 64;

/**
 * Names of input files in the working directory, in order: the last part of each name with anything but
 * [A-Za-z0-9._-] replaced by `_`; equal ones get `-2`, `-3` before the extension.
 */
export function mountedNames(names: readonly string[]): readonly string[] {
  const taken = new Set<string>();
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
  return `.${createHash("sha256").update(sessionId).digest("hex").slice(0, 32)}`;
}

function plainName(name: string): string {
  const base = name.split(/[/\\]/).at(-1) ?? "";
  const safe = base.replaceAll(/[^A-Za-z0-9._-]/g, "_");
  return /^\.*$/.test(safe) ? "file" : safe.slice(-200);
}
