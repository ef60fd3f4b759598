import { expect, test } from "bun:test";
import { skillsText } from "../../src/skills/text.ts";

const skill = (files: readonly string[]) => ({
  skill: { name: "poems", description: "Writes\npoems.", files },
  folder: "poems",
});

test("each skill is listed with its first command and its files", () => {
  const text = skillsText([skill(["SKILL.md", "lib/deep/er/still/x.txt", "lib/words.txt"])]) ?? "";
  expect(text).toContain("are not\ncommands or tools");
  expect(text).toEndWith(
    [
      "Skill: poems",
      "Purpose: Writes poems.",
      "First command: cat skills/poems/SKILL.md",
      "Files:",
      "  SKILL.md",
      "  lib/",
      "    deep/",
      "      er/",
      "        still/",
      "    words.txt",
    ].join("\n"),
  );
});

test("a long list of files is cut", () => {
  const files = Array.from({ length: 100 }, (_, i) => `f${String(i).padStart(3, "0")}`);
  const lines = (skillsText([skill(files)]) ?? "").split("\n");
  expect(lines.slice(-2)).toEqual(["  f079", "  ..."]);
});

test("without skills there is no text", () => expect(skillsText([])).toBeUndefined());
