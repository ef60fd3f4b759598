// Parses the front matter of SKILL.md: YAML between two lines of `---`.

import { parse } from "yaml";
import { isObject } from "../core/json.ts";
import { SKILL_DESCRIPTION_CHARS_MAX, SKILL_HEAD_CHARS_MAX, SKILL_NAME_CHARS_MAX } from "./limits.ts";
import { invalidSkill } from "./invalid.ts";

export interface SkillHead {
  readonly name: string;
  readonly description: string;
}

const HEAD = /^\ufeff?---[ \t]*\r?\n(?<yaml>[^]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

/** Parses the front matter. Throws `invalid_skill_upload`. */
export function parseHead(text: string): SkillHead {
  const yaml = HEAD.exec(text.slice(0, SKILL_HEAD_CHARS_MAX))?.groups?.["yaml"];
  if (yaml === undefined) {
    throw invalidSkill(
      "SKILL.md must start with YAML front matter between two lines of ---, with name and description",
    );
  }
  const head = parsed(yaml);
  return {
    name: textIn(head, "name", SKILL_NAME_CHARS_MAX),
    description: textIn(head, "description", SKILL_DESCRIPTION_CHARS_MAX),
  };
}

/** Parses all scalars as strings: a name may look like a number. */
function parsed(yaml: string): unknown {
  try {
    return parse(yaml, { schema: "failsafe", logLevel: "error" }) as unknown;
  } catch (cause) {
    throw invalidSkill(
      "the front matter of SKILL.md is not valid YAML; quote values that contain a colon",
      cause,
    );
  }
}

function textIn(head: unknown, key: string, charactersMax: number): string {
  const value: unknown = isObject(head) && Object.hasOwn(head, key) ? Reflect.get(head, key) : undefined;
  const text = typeof value === "string" ? value.trim() : "";
  if (text !== "" && text.length <= charactersMax) return text;
  throw invalidSkill(
    `the front matter of SKILL.md needs a ${key}: a string of 1 to ${charactersMax} characters`,
  );
}
