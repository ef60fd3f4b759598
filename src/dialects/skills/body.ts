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
  { $id: "SkillUploadForm", description: "Body of an upload." },
);

export const SkillObject = Type.Object(
  {
    id: Type.String({ description: "Id of the object." }),
    object: Type.Literal("skill"),
    created_at: Type.Integer({ minimum: 0, description: "Unix seconds." }),
    name: Type.String({ description: "Name of the skill." }),
    description: Type.String({ description: "When the model should use it." }),
    latest_version: Type.Integer({ description: "Number of the newest version.", minimum: 1 }),
  },
  { $id: "SkillObject", description: "A skill; name and description are those of its latest version." },
);

export const SkillListObject = Type.Object(
  { object: Type.Literal("list"), data: Type.Array(SkillObject) },
  { $id: "SkillListObject", description: "All skills." },
);

export const SkillVersionObject = Type.Object(
  {
    id: Type.String({ description: "Id of the object." }),
    object: Type.Literal("skill.version"),
    skill_id: Type.String({ description: "Id of the skill." }),
    created_at: Type.Integer({ minimum: 0, description: "Unix seconds." }),
    version: Type.Integer({ description: "Number of the version.", minimum: 1 }),
    name: Type.String({ description: "Name of the skill." }),
    description: Type.String({ description: "When the model should use it." }),
  },
  { $id: "SkillVersionObject", description: "A version of a skill." },
);

export const SkillVersionListObject = Type.Object(
  { object: Type.Literal("list"), data: Type.Array(SkillVersionObject) },
  { $id: "SkillVersionListObject", description: "All versions of a skill." },
);

export const MessagesSkillObject = Type.Object(
  {
    id: Type.String({ description: "Id of the object." }),
    type: Type.Literal("skill"),
    created_at: Type.String({ description: "RFC 3339 time." }),
    updated_at: Type.String({ description: "RFC 3339 time." }),
    display_title: Type.String({ description: "Name of the skill." }),
    latest_version: Type.String({ description: "Number of the newest version." }),
    source: Type.Literal("custom"),
  },
  { $id: "MessagesSkillObject", description: "A skill, in the format of the messages dialect." },
);

export const MessagesSkillVersionObject = Type.Object(
  {
    id: Type.String({ description: "Id of the object." }),
    type: Type.Literal("skill_version"),
    skill_id: Type.String({ description: "Id of the skill." }),
    created_at: Type.String({ description: "RFC 3339 time." }),
    version: Type.String({ description: "Number of the version." }),
    name: Type.String({ description: "Name of the skill." }),
    description: Type.String({ description: "When the model should use it." }),
    directory: Type.String({ description: "Top folder of its files." }),
  },
  {
    $id: "MessagesSkillVersionObject",
    description: "A version of a skill, in the format of the messages dialect.",
  },
);

const paging = {
  has_more: Type.Boolean({ description: "Whether the list goes on." }),
  next_page: Type.Union([Type.String(), Type.Null()], { description: "Always null: lists have one page." }),
};

export const MessagesSkillListObject = Type.Object(
  { data: Type.Array(MessagesSkillObject), ...paging },
  { $id: "MessagesSkillListObject", description: "All skills, in the format of the messages dialect." },
);

export const MessagesSkillVersionListObject = Type.Object(
  { data: Type.Array(MessagesSkillVersionObject), ...paging },
  {
    $id: "MessagesSkillVersionListObject",
    description: "All versions of a skill, in the format of the messages dialect.",
  },
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
