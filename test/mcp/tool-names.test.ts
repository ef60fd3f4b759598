// Names of MCP tools for models: what the strictest servers accept, each once.

import { expect, test } from "bun:test";
import { toolNames } from "../../src/mcp/tool-names.ts";

function namesOf(prefix: string | undefined, ...tools: readonly string[]): readonly string[] {
  const listed = tools.map((name) => ({ name, inputSchema: {} }));
  return [...toolNames(prefix, listed, new Map()).names.values()];
}

test("dots, blanks and long names become names of 64 plain characters", () => {
  const names = namesOf("r", "admin.tools.list", "a b", "x".repeat(128), "ü".repeat(80), "日本");
  for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  expect(names.slice(0, 2)).toEqual(["r_admin_tools_list", "r_a_b"]);
  expect(new Set(names).size).toBe(5);
});

test("tools of one server that differ only in other characters all get a name", () => {
  expect(namesOf("r", "user/profile", "user profile", "user_profile")).toEqual([
    "r_user_profile_2",
    "r_user_profile_3",
    "r_user_profile",
  ]);
  expect(namesOf(undefined, "日本", "日木")).toEqual(["__", "___2"]);
  const long = "x".repeat(70);
  expect(new Set(namesOf("r", `${long}.`, `${long}/`)).size).toBe(2);
});
