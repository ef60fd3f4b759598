// /v1/skills. Clients of the messages dialect use another shape of skills; they are recognized by their headers or
// query.

import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { SKILLS_PAGE, SKILLS_PAGE_MAX } from "../limits.ts";
import type { SkillUpload } from "../../core/skills.ts";
import {
  messagesSkill,
  MessagesSkillListObject,
  MessagesSkillObject,
  MessagesSkillVersionListObject,
  MessagesSkillVersionObject,
  messagesVersion,
  SkillListObject,
  SkillObject,
  SkillUploadForm,
  skillBody,
  SkillVersionListObject,
  SkillVersionObject,
  versionBody,
} from "../../dialects/skills/body.ts";
import type { HttpDeps } from "../deps.ts";
import { readForm } from "../multipart.ts";
import type { ApiComponents } from "../openapi.ts";
import { refuseWhileDraining } from "../run.ts";
import { numberIn } from "../query-number.ts";

const tags = ["Skills"];
const VERSIONS = "/v1/skills/:skill_id/versions";

/** Skill routes. */
export function skillRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia()
    .post("/v1/skills", ({ request }) => create(deps, request), {
      parse: "none", // multipart.ts reads it
      detail: {
        operationId: "create_skill",
        description:
          "A zip archive, or the loose files of a folder with a `SKILL.md`. Models with the shell can use it.",
        tags,
        summary: "Upload a skill",
        requestBody: components.form(SkillUploadForm),
        responses: components.answers("The skill.", Type.Union([SkillObject, MessagesSkillObject])),
      },
    })
    .get("/v1/skills", ({ request }) => list(deps, request), {
      detail: {
        operationId: "list_skills",
        description: "Skills of the caller.",
        tags,
        summary: "List the skills, oldest first",
        responses: components.answers("The skills.", Type.Union([SkillListObject, MessagesSkillListObject])),
      },
    })
    .post(VERSIONS, ({ params, request }) => addVersion(deps, params.skill_id, request), {
      parse: "none",
      detail: {
        operationId: "create_skill_version",
        description: "Requests that name `latest` use it from now on.",
        tags,
        summary: "Upload a new version of a skill",
        requestBody: components.form(SkillUploadForm),
        responses: components.answers(
          "The version.",
          Type.Union([SkillVersionObject, MessagesSkillVersionObject]),
        ),
      },
    })
    .get(VERSIONS, ({ params, request }) => listVersions(deps, params.skill_id, request), {
      detail: {
        operationId: "list_skill_versions",
        description: "All of them can be named by requests.",
        tags,
        summary: "List the versions of a skill, oldest first",
        responses: components.answers(
          "The versions.",
          Type.Union([SkillVersionListObject, MessagesSkillVersionListObject]),
        ),
      },
    });
}

async function create(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const version = await deps.skills.create(await uploadOf(request));
  return Response.json(isMessages(request) ? messagesSkill([version]) : skillBody([version]));
}

async function addVersion(deps: HttpDeps, skillId: string, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  deps.skills.versions(skillId); // an unknown skill needs no upload
  const version = await deps.skills.addVersion(skillId, await uploadOf(request));
  return Response.json(isMessages(request) ? messagesVersion(version) : versionBody(version));
}

function list({ skills }: HttpDeps, request: Request): Response {
  const all = skills.list();
  if (!isMessages(request)) return Response.json({ object: "list", data: all.map(skillBody) });
  const source = queryOf(request).get("source") ?? "custom";
  const shown = source === "custom" ? all.map(messagesSkill) : []; // there are none but uploaded ones
  return page(shown, request);
}

function listVersions({ skills }: HttpDeps, skillId: string, request: Request): Response {
  const versions = skills.versions(skillId);
  if (isMessages(request)) return page(versions.map(messagesVersion), request);
  return Response.json({ object: "list", data: versions.map(versionBody) });
}

function queryOf(request: Request): URLSearchParams {
  return new URL(request.url).searchParams;
}

const MESSAGES_HEADERS = ["msgapi-version", "msgapi-beta", "anthropic-version", "anthropic-beta"];

function isMessages(request: Request): boolean {
  return MESSAGES_HEADERS.some((name) => request.headers.has(name)) || queryOf(request).has("source");
}

/** A page of a list; the parameter `page` is the end of the previous one. */
function page(items: readonly object[], request: Request): Response {
  const query = queryOf(request);
  const limit = numberIn(query, "limit", { min: 1, max: SKILLS_PAGE_MAX }) ?? SKILLS_PAGE;
  const from = numberIn(query, "page", { min: 0, max: items.length }) ?? 0;
  const end = from + limit;
  const hasMore = end < items.length;
  const next = hasMore ? String(end) : null;
  return Response.json({ data: items.slice(from, end), has_more: hasMore, next_page: next });
}

async function uploadOf(request: Request): Promise<SkillUpload> {
  const form = await readForm(request, { code: "invalid_skill_upload", withPaths: true });
  const files = form.files
    .filter(({ field }) => ["files", "files[]", "file"].includes(field))
    .map(({ filename = "", pieces }) => ({ path: filename, pieces }));
  const title = form.fields.get("display_title")?.trim() ?? "";
  return { files, ...(title === "" ? {} : { title }) };
}
