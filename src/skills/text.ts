// System text about the skills in the shell. Pure.

import { itemAt } from "../core/assert.ts";
import { SKILL_TREE_DEPTH_MAX, SKILL_TREE_LINES_MAX } from "./limits.ts";
import type { SkillVersion } from "../core/skills.ts";

/** A skill and the name of its folder under `skills/` in the working directory. */
export interface MountedSkill {
  readonly skill: Pick<SkillVersion, "name" | "description" | "files">;
  readonly folder: string;
}

/** System text about the skills of a request; undefined without skills. */
export function skillsText(skills: readonly MountedSkill[]): string | undefined {
  if (skills.length === 0) return undefined;
  return [
    "Skills are folders with instructions and helper files, in your shell's working directory under skills/. They are not",
    "commands or tools. Before you use one, read its SKILL.md with the shell and follow it.",
    ...skills.flatMap(({ skill, folder }) => [
      "",
      `Skill: ${oneLine(skill.name)}`,
      `Purpose: ${oneLine(skill.description)}`,
      `First command: cat skills/${folder}/SKILL.md`,
      "Files:",
      ...tree(skill.files).map((line) => `  ${line}`),
    ]),
  ].join("\n");
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

/** Indented file tree, folders before their files, limited in depth and length. */
function tree(files: readonly string[]): readonly string[] {
  const lines: string[] = [];
  const told = new Set<string>();
  for (const file of files.toSorted()) {
    const parts = file.split("/");
    for (let depth = 1; depth <= Math.min(parts.length, SKILL_TREE_DEPTH_MAX); depth++) {
      const path = parts.slice(0, depth).join("/");
      if (told.has(path)) continue;
      told.add(path);
      const isFolder = depth < parts.length;
      lines.push(`${"  ".repeat(depth - 1)}${itemAt(parts, depth - 1)}${isFolder ? "/" : ""}`);
    }
  }
  return lines.length <= SKILL_TREE_LINES_MAX ? lines : [...lines.slice(0, SKILL_TREE_LINES_MAX), "..."];
}
