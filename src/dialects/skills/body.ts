// Wire form of skills, in OpenAI's and in Anthropic's format. Pure.

import { type Static, Type } from "@sinclair/typebox";
import { assert } from "../../core/assert.ts";
import type { SkillVersion } from "../../core/skills.ts";
import { rfc3339 } from "../../core/time.ts";

export const SkillUploadForm = Type.Object(
  {
    files: Type.Array(Type.String({ format: "binary" }), {
      description: "A zip archive, or the files of one folder with their paths; SKILL.md at the top level.",
    }),
  },
  { $id: "SkillUploadForm" },
);

export const SkillObject = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal("skill"),
    created_at: Type.Integer({ minimum: 0, description: "Unix seconds." }),
    name: Type.String(),
    description: Type.String(),
    latest_version: Type.Integer({ minimum: 1 }),
  },
  { $id: "SkillObject", description: "A skill; name and description are those of its latest version." },
);

export const SkillListObject = Type.Object(
  { object: Type.Literal("list"), data: Type.Array(SkillObject) },
  { $id: "SkillListObject" },
);

export const SkillVersionObject = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal("skill.version"),
    skill_id: Type.String(),
    created_at: Type.Integer({ minimum: 0, description: "Unix seconds." }),
    version: Type.Integer({ minimum: 1 }),
    name: Type.String(),
    description: Type.String(),
  },
  { $id: "SkillVersionObject" },
);

export const SkillVersionListObject = Type.Object(
  { object: Type.Literal("list"), data: Type.Array(SkillVersionObject) },
  { $id: "SkillVersionListObject" },
);

export const MessagesSkillObject = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal("skill"),
    created_at: Type.String(),
    updated_at: Type.String(),
    display_title: Type.String(),
    latest_version: Type.String(),
    source: Type.Literal("custom"),
  },
  { $id: "MessagesSkillObject", description: "A skill, in the format of the messages dialect." },
);

export const MessagesSkillVersionObject = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal("skill_version"),
    skill_id: Type.String(),
    created_at: Type.String(),
    version: Type.String(),
    name: Type.String(),
    description: Type.String(),
    directory: Type.String(),
  },
  { $id: "MessagesSkillVersionObject" },
);

const paging = { has_more: Type.Boolean(), next_page: Type.Union([Type.String(), Type.Null()]) };

export const MessagesSkillListObject = Type.Object(
  { data: Type.Array(MessagesSkillObject), ...paging },
  { $id: "MessagesSkillListObject" },
);

export const MessagesSkillVersionListObject = Type.Object(
  { data: Type.Array(MessagesSkillVersionObject), ...paging },
  { $id: "MessagesSkillVersionListObject" },
);

/** A skill, from its versions, oldest first. */
export function skillBody(versions: readonly SkillVersion[]): Static<typeof SkillObject> {
  const { first, last } = endsOf(versions);
  return {
    id: first.skillId,
    object: "skill",
    created_at: first.createdAt,
    name: last.name,
    description: last.description,
    latest_version: last.version,
  };
}

export function versionBody(version: SkillVersion): Static<typeof SkillVersionObject> {
  const { skillId, createdAt, name, description } = version;
  return {
    id: versionId(version),
    object: "skill.version",
    skill_id: skillId,
    created_at: createdAt,
    version: version.version,
    name,
    description,
  };
}

/** A skill in the format of the messages dialect, from its versions, oldest first. */
export function messagesSkill(versions: readonly SkillVersion[]): Static<typeof MessagesSkillObject> {
  const { first, last } = endsOf(versions);
  return {
    id: first.skillId,
    type: "skill",
    created_at: rfc3339(first.createdAt),
    updated_at: rfc3339(last.createdAt),
    display_title: first.title ?? last.name,
    latest_version: String(last.version),
    source: "custom",
  };
}

export function messagesVersion(version: SkillVersion): Static<typeof MessagesSkillVersionObject> {
  const { skillId, createdAt, name, description, directory } = version;
  return {
    id: versionId(version),
    type: "skill_version",
    skill_id: skillId,
    created_at: rfc3339(createdAt),
    version: String(version.version),
    name,
    description,
    directory,
  };
}

function endsOf(versions: readonly SkillVersion[]) {
  const first = versions[0];
  const last = versions.at(-1);
  assert(first !== undefined && last !== undefined, "a skill has at least one version");
  return { first, last };
}

function versionId({ skillId, version }: SkillVersion): string {
  return `${skillId}_v${version}`;
}
