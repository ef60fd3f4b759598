// Flat names of functions in namespaces: readable, valid for models, unique in both directions, stable over turns.

import { describe, expect, test } from "bun:test";
import { ToolNames } from "../../src/dialects/responses/tool-names.ts";

const grouped = (namespace: string, name: string) => ({ namespace, name });

describe("a flat name", () => {
  test("contains the namespace", () => {
    const names = new ToolNames([grouped("mcp__files", "read")]);
    expect(names.flat(grouped("mcp__files", "read"))).toBe("mcp__files__read");
    expect(names.qualified("mcp__files__read")).toEqual(grouped("mcp__files", "read"));
  });

  test("of a function without namespace is unchanged, namespace absent or null", () => {
    const names = new ToolNames([{ name: "a__b" }]);
    expect(names.flat({ name: "a__b" })).toBe("a__b");
    expect(names.flat({ name: "a__b", namespace: null })).toBe("a__b");
    expect(names.qualified("a__b")).toEqual({ name: "a__b" });
  });

  test.each([
    ["long", "n".repeat(60), "tool"],
    ["longer", "n".repeat(256), "t".repeat(256)],
    ["foreign characters", "crm.eu/ß", "find customer"],
    ["an emoji", "🗂", "📄"],
  ])("is valid for models: %s", (_, namespace, name) => {
    const names = new ToolNames([grouped(namespace, name)]);
    const flat = names.flat(grouped(namespace, name));
    expect(flat).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(names.qualified(flat)).toEqual(grouped(namespace, name));
  });
});

/** Functions whose readable flat names collide. */
const COLLIDING = [
  grouped("a", "b__c"),
  grouped("a__b", "c"),
  grouped("a.b", "_c"),
  grouped("n".repeat(100), "x"),
  grouped("n".repeat(100), "y"),
];

test("colliding names are made unique", () => {
  const names = new ToolNames([{ name: "a__b__c" }, ...COLLIDING]);
  const flats = ["a__b__c", ...COLLIDING.map((one) => names.flat(one))];
  expect(new Set(flats).size).toBe(flats.length);
  for (const flat of flats) expect(flat.length).toBeLessThanOrEqual(64);
  expect(names.qualified("a__b__c")).toEqual({ name: "a__b__c" });
  for (const one of COLLIDING) expect(names.qualified(names.flat(one))).toEqual(one);
});

test("names do not depend on order or on other declarations", () => {
  const one = new ToolNames([...COLLIDING, grouped("crm", "find")]);
  const other = new ToolNames([grouped("crm", "find"), ...COLLIDING.toReversed(), { name: "shell" }]);
  for (const each of COLLIDING) expect(other.flat(each)).toBe(one.flat(each));
  expect(new ToolNames([]).flat(grouped("crm", "find"))).toBe(one.flat(grouped("crm", "find")));
});

test("a function named like another's hashed name does not collide", () => {
  const one = grouped("x", "y");
  const hashed = new ToolNames([{ name: "x__y" }, one]).flat(one);
  const names = new ToolNames([{ name: "x__y" }, { name: hashed }, one]);
  expect(names.qualified(names.flat(one))).toEqual(one);
  expect(names.qualified(hashed)).toEqual({ name: hashed });
});
