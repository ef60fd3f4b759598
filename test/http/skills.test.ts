// /v1/skills in both shapes that clients know.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { SkillStore } from "../../src/skills/store.ts";
import { testApp } from "../helpers/app.ts";
import { tempDir } from "../helpers/tmp.ts";
import { zipOf } from "../helpers/zip.ts";

const root = tempDir();
let folders = 0;
const head = (name: string) => `---\nname: ${name}\ndescription: Does ${name}.\n---\n`;
const MESSAGES = { "anthropic-version": "2023-06-01" };
const TIME = "2023-11-14T22:13:20Z";

function skillApp() {
  const folder = join(root, `skills-${folders++}`);
  const skills = new SkillStore({ folder, clock: () => 1_700_000_000_000, log: () => undefined });
  const { request, logged } = testApp(undefined, { skills });
  const post = (path: string, form: FormData, headers: Record<string, string> = {}) =>
    request(path, { method: "POST", body: form, headers });
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await request(path, { headers });
    return [response.status, await response.json()] as const;
  };
  const created = async (name = "poems", headers: Record<string, string> = {}) => {
    const response = await post("/v1/skills", zipForm(name), headers);
    expect(response.status).toBe(200);
    return (await response.json()) as { id: string };
  };
  return { request, post, get, created, logged, skills };
}

function zipForm(name: string, field = "files"): FormData {
  const form = new FormData();
  form.append(field, new File([zipOf([{ name: `${name}/SKILL.md`, content: head(name) }])], `${name}.zip`));
  return form;
}

async function refusal(response: Response): Promise<readonly [number, string]> {
  const { error } = (await response.json()) as { error: { code: string } };
  return [response.status, error.code];
}

test("a skill and its versions in the shape of the base dialect", async () => {
  const { created, post, get } = skillApp();
  const skill = await created();
  const { id } = skill;
  expect<object>(skill).toEqual({
    id,
    object: "skill",
    created_at: 1_700_000_000,
    name: "poems",
    description: "Does poems.",
    latest_version: 1,
  });
  const second = await post(`/v1/skills/${id}/versions`, zipForm("verses"));
  const version = {
    id: `${id}_v2`,
    object: "skill.version",
    skill_id: id,
    created_at: 1_700_000_000,
    version: 2,
    name: "verses",
    description: "Does verses.",
  };
  expect(await second.json()).toEqual(version);
  const newest = { ...skill, name: "verses", description: "Does verses.", latest_version: 2 };
  expect(await get("/v1/skills")).toEqual([200, { object: "list", data: [newest] }]);
  const first = { ...version, id: `${id}_v1`, version: 1, name: "poems", description: "Does poems." };
  expect(await get(`/v1/skills/${id}/versions`)).toEqual([200, { object: "list", data: [first, version] }]);
});

describe("in the shape of the messages dialect", () => {
  test("for its headers", async () => {
    const { created, post, get } = skillApp();
    const form = zipForm("poems");
    form.append("display_title", "My poems");
    const skill = (await (await post("/v1/skills", form, MESSAGES)).json()) as { id: string };
    const { id } = skill;
    expect<object>(skill).toEqual({
      id,
      type: "skill",
      created_at: TIME,
      updated_at: TIME,
      display_title: "My poems",
      latest_version: "1",
      source: "custom",
    });
    const second = await post(`/v1/skills/${id}/versions`, zipForm("verses"), MESSAGES);
    expect(await second.json()).toEqual({
      id: `${id}_v2`,
      type: "skill_version",
      skill_id: id,
      created_at: TIME,
      version: "2",
      name: "verses",
      description: "Does verses.",
      directory: "verses",
    });
    await created("other");
    const [, listed] = await get("/v1/skills", { "msgapi-version": "1" });
    expect(listed).toMatchObject({
      data: [{ id }, { display_title: "other" }],
      has_more: false,
      next_page: null,
    });
    const [, versions] = await get(`/v1/skills/${id}/versions`, MESSAGES);
    expect(versions).toMatchObject({ data: [{ version: "1" }, { version: "2" }], has_more: false });
  });

  test("for its query, page by page", async () => {
    const { created, get } = skillApp();
    for (const name of ["a", "b", "c"]) await created(name);
    const [, first] = await get("/v1/skills?source=custom&limit=2");
    expect(first).toMatchObject({ data: [{ display_title: "a" }, { display_title: "b" }], has_more: true });
    const { next_page: page } = first as { next_page: string };
    const [, second] = await get(`/v1/skills?source=custom&limit=2&page=${page}`);
    expect(second).toMatchObject({ data: [{ display_title: "c" }], has_more: false, next_page: null });
    expect(await get("/v1/skills?source=anthropic")).toEqual([
      200,
      { data: [], has_more: false, next_page: null },
    ]);
    for (const query of ["limit=0", "limit=101", "limit=x", "page=9", "page=-1"]) {
      const [status, body] = await get(`/v1/skills?source=custom&${query}`);
      expect([status, body]).toMatchObject([400, { error: { param: query.split("=")[0] } }]);
    }
  });
});

describe("the files of a form", () => {
  test.each(["files", "files[]", "file"])("come as %s, with their folders in their names", async (field) => {
    const { post, skills } = skillApp();
    const form = new FormData();
    form.append(field, new File([head("poems")], "poems/SKILL.md"));
    form.append(field, new File(["moon June"], "poems/lib/words.txt"));
    form.append("other", new File(["x"], "../../etc/passwd"));
    const response = await post("/v1/skills", form);
    expect(response.status).toBe(200);
    expect(skills.list()[0]?.[0]?.files).toEqual(["SKILL.md", "lib/words.txt"]);
  });
});

describe("an upload is refused", () => {
  test("when it is no skill", async () => {
    const { post, get } = skillApp();
    const form = new FormData();
    form.append("files", new File(["x"], "readme.md"));
    expect(await refusal(await post("/v1/skills", form))).toEqual([400, "invalid_skill_upload"]);
    expect(await refusal(await post("/v1/skills", zipForm("x", "other")))).toEqual([
      400,
      "invalid_skill_upload",
    ]);
    expect(await get("/v1/skills")).toEqual([200, { object: "list", data: [] }]);
  });

  test.each([
    ["application/json", "{}", 415, "unsupported_media_type"],
    ["multipart/form-data; boundary=x", "hello", 400, "invalid_skill_upload"],
  ])("as %s", async (type, body, status, code) => {
    const { request } = skillApp();
    const response = await request("/v1/skills", { method: "POST", headers: { "content-type": type }, body });
    expect(await refusal(response)).toEqual([status, code]);
  });

  test("for a skill that is not there", async () => {
    const { post, request } = skillApp();
    const path = "/v1/skills/skill_none/versions";
    expect(await refusal(await post(path, zipForm("x")))).toEqual([404, "skill_not_found"]);
    expect(await refusal(await request(path))).toEqual([404, "skill_not_found"]);
  });
});
