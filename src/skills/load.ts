// Loads the folder of skills. Entries that the store did not write are ignored and logged.

import { itemAt } from "../core/assert.ts";
import { lstatSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { SKILL_LEFTOVER_MS } from "./limits.ts";
import type { SkillVersion } from "../core/skills.ts";
import { codeOf } from "../core/reason.ts";

/** Prefix of the folders of unfinished uploads. */
export const INCOMING = ".incoming-";

const SKILL_ID = /^skill_[0-9a-f]{32}$/;

/** Content of a version.json. */
const VersionFile = Type.Readonly(
  Type.Object({
    createdAt: Type.Integer({ minimum: 0 }),
    name: Type.String({ minLength: 1 }),
    description: Type.String({ minLength: 1 }),
    title: Type.Optional(Type.String()),
    directory: Type.String({ minLength: 1 }),
    files: Type.Array(Type.String()),
  }),
);
export type VersionFile = Static<typeof VersionFile>;

/** Versions by skill, skills by age. Empty for a missing folder. */
export function loadSkills(
  folder: string,
  log: (line: string) => void,
): Map<string, readonly SkillVersion[]> {
  const ids = namesIn(folder).filter((name) => SKILL_ID.test(name));
  const skills = ids.map((id) => [id, versionsOf(folder, id, log)] as const);
  const age = (versions: readonly SkillVersion[]): number => itemAt(versions, 0).createdAt;
  return new Map(skills.filter(([, found]) => found.length > 0).toSorted(([, a], [, b]) => age(a) - age(b)));
}

function versionsOf(folder: string, skillId: string, log: (line: string) => void): readonly SkillVersion[] {
  const versions = join(folder, skillId, "versions");
  const numbers = namesIn(versions).filter((name) => /^[1-9]\d{0,5}$/.test(name));
  return numbers
    .map(Number)
    .toSorted((a, b) => a - b)
    .flatMap((version): readonly SkillVersion[] => {
      const place = join(versions, String(version));
      const file = readVersion(place);
      if (file === undefined) log(`skills: ${place} is incomplete and was ignored`);
      return file === undefined ? [] : [{ ...file, skillId, version, dir: join(place, "content") }];
    });
}

function readVersion(place: string): VersionFile | undefined {
  try {
    const json: unknown = JSON.parse(readFileSync(join(place, "version.json"), "utf8"));
    if (!Value.Check(VersionFile, json)) return undefined;
    return lstatSync(join(place, "content", "SKILL.md")).isFile() ? json : undefined;
  } catch {
    return undefined;
  }
}

/** Removes abandoned uploads of other processes. */
export function removeLeftovers(folder: string, nowMs: number): void {
  for (const name of namesIn(folder).filter((one) => one.startsWith(INCOMING))) {
    const path = join(folder, name);
    const { mtimeMs } = lstatSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: nowMs };
    if (nowMs - mtimeMs > SKILL_LEFTOVER_MS) rmSync(path, { recursive: true, force: true });
  }
}

/**
 * Refuses a folder of another user: any user may create one in the system's temporary folder, and its content would be put
 * into prompts and run by the shell.
 */
export function refuseForeignFolder(folder: string): void {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  const own = process.getuid?.(); // Windows has no user ids, and a temporary folder per user
  const isOwn = found === undefined || (found.isDirectory() && (own === undefined || found.uid === own));
  if (!isOwn)
    throw new Error(`the folder ${folder} belongs to another user; set another folder with --skills-dir`);
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}
