// Results of MCP servers that break the protocol: one odd tool or content block does not cost the others.

import { expect, test } from "bun:test";
import { repairResult } from "../../src/mcp/repair.ts";

const GOOD = { name: "good", description: "It is good.", inputSchema: { type: "object" } };

function listed(...tools: readonly unknown[]) {
  const { result, faults } = repairResult("tools/list", { tools });
  return { ...(result as { readonly tools: readonly Record<string, unknown>[] }), faults };
}

test.each<[string, Record<string, unknown>, Record<string, unknown>, string]>([
  ["no schema", { inputSchema: undefined }, { type: "object" }, "it has no inputSchema"],
  ["an empty schema", { inputSchema: {} }, { type: "object" }, 'has no type "object"'],
  ["null as schema", { inputSchema: null }, { type: "object" }, "its inputSchema is null"],
  ["a list as schema", { inputSchema: [] }, { type: "object" }, "its inputSchema is a list"],
  [
    "a schema without type",
    { inputSchema: { properties: { a: { type: "string" }, b: true } } },
    { type: "object", properties: { a: { type: "string" }, b: {} } },
    'has no type "object"',
  ],
  [
    "several types",
    { inputSchema: { type: ["object", "null"], required: ["a"] } },
    { type: "object", required: ["a"] },
    'has no type "object"',
  ],
  [
    "properties as null",
    { inputSchema: { type: "object", properties: null } },
    { type: "object" },
    "propert",
  ],
  ["required as text", { inputSchema: { type: "object", required: "a" } }, { type: "object" }, "required"],
  ["null as description", { description: null }, { type: "object" }, "its description is null"],
  ["a number as description", { description: 4 }, { type: "object" }, "its description is of type number"],
])("a tool with %s is repaired and named", (_what, odd, inputSchema, fault) => {
  const { tools, faults } = listed({ ...GOOD, name: "odd", ...odd }, GOOD);
  expect(tools.map(({ name }) => name)).toEqual(["odd", "good"]);
  expect(tools[0]?.["inputSchema"]).toEqual(inputSchema);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toStartWith('tool "odd": ');
  expect(faults[0]).toContain(fault);
});

test.each([[7], [null], [{}], [{ name: 5 }], [{ name: "" }], [{ name: ["a"] }], ["text"], [[]]])(
  "%j as a tool is skipped and named",
  (odd) => {
    const { tools, faults } = listed(odd, GOOD);
    expect(tools).toEqual([GOOD]);
    expect(faults).toHaveLength(1);
  },
);

test("output schemas, annotations and unknown keys cannot fail a list", () => {
  const odd = { outputSchema: { type: "string" }, annotations: [], icons: 4, execution: 1, _meta: 5, x: 1 };
  expect(listed({ ...GOOD, ...odd })).toMatchObject({ tools: [GOOD], faults: [] });
  expect(repairResult("tools/list", { tools: null, nextCursor: null }).result).toMatchObject({ tools: [] });
});

test("content: what is known is kept, the rest becomes a note", () => {
  const { result } = repairResult("tools/call", {
    content: [
      { type: "video", data: "x" },
      { type: "text", text: "ok part", annotations: 4 },
      { type: "text" },
      "bare",
      null,
      { type: "image", data: "/9 j/\n", mimeType: null },
      { type: "resource_link", uri: "a://b" },
      { type: "resource", resource: { uri: 4, text: "t" } },
      { type: "resource", resource: { uri: "a://c" } },
    ],
    isError: null,
    structuredContent: [1],
  });
  expect(result).toEqual({
    content: [
      { type: "text", text: '[Content of "video", which cannot be shown]' },
      { type: "text", text: "ok part" },
      { type: "text", text: '[Content of "text", which cannot be shown]' },
      { type: "text", text: "bare" },
      { type: "text", text: "null" },
      { type: "image", data: "/9j/", mimeType: "application/octet-stream" },
      { type: "resource_link", uri: "a://b", name: "a://b" },
      { type: "resource", resource: { uri: "", text: "t" } },
      { type: "text", text: '[Content of "resource", which cannot be shown]' },
    ],
    structuredContent: { result: [1] },
  });
  expect(repairResult("tools/call", { toolResult: { a: 1 } }).result).toMatchObject({
    content: [{ type: "text", text: '{"a":1}' }],
  });
  expect(repairResult("tools/call", { content: "plain" }).result).toMatchObject({
    content: [{ type: "text", text: "plain" }],
  });
});

test("resources and prompts: entries without address or name are skipped", () => {
  const resources = [{ uri: "a://b", name: null }, { name: "x" }];
  expect(repairResult("resources/list", { resources })).toMatchObject({
    result: { resources: [{ uri: "a://b", name: "a://b" }] },
    faults: ["a resource whose uri is missing is skipped"],
  });
  const prompts = [{ name: "p", arguments: [{ name: "a", required: "yes" }, {}] }, { name: 4 }];
  expect(repairResult("prompts/list", { prompts })).toMatchObject({
    result: { prompts: [{ name: "p", arguments: [{ name: "a" }] }] },
    faults: ["a prompt whose name is of type number is skipped"],
  });
});
