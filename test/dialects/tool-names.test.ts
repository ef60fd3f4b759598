// Functions in namespaces under flat names: legible, within what models take, one name a function in both directions, and
// the same in every turn.

import { describe, expect, test } from "bun:test";
import { ToolNames } from "../../src/dialects/responses/tool-names.ts";

const grouped = (namespace: string, name: string) => ({ namespace, name });

describe("a name", () => {
  test("shows its namespace", () => {
    const names = new ToolNames([grouped("mcp__files", "read")]);
    expect(names.flat(grouped("mcp__files", "read"))).toBe("mcp__files__read");
    expect(names.qualified("mcp__files__read")).toEqual(grouped("mcp__files", "read"));
  });

  test("of a function outside stays, with or without a word for nothing", () => {
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
  ])("%s is within what models take", (_, namespace, name) => {
    const names = new ToolNames([grouped(namespace, name)]);
    const flat = names.flat(grouped(namespace, name));
    expect(flat).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(names.qualified(flat)).toEqual(grouped(namespace, name));
  });
});

/** Pairs that look alike once they are flat. */
const ALIKE = [
  grouped("a", "b__c"),
  grouped("a__b", "c"),
  grouped("a.b", "_c"),
  grouped("n".repeat(100), "x"),
  grouped("n".repeat(100), "y"),
];

test("names that would collide are told apart", () => {
  const names = new ToolNames([{ name: "a__b__c" }, ...ALIKE]);
  const flats = ["a__b__c", ...ALIKE.map((one) => names.flat(one))];
  expect(new Set(flats).size).toBe(flats.length);
  for (const flat of flats) expect(flat.length).toBeLessThanOrEqual(64);
  expect(names.qualified("a__b__c")).toEqual({ name: "a__b__c" });
  for (const one of ALIKE) expect(names.qualified(names.flat(one))).toEqual(one);
});

test("names do not depend on the order or on what else is declared", () => {
  const one = new ToolNames([...ALIKE, grouped("crm", "find")]);
  const other = new ToolNames([grouped("crm", "find"), ...ALIKE.toReversed(), { name: "shell" }]);
  for (const each of ALIKE) expect(other.flat(each)).toBe(one.flat(each));
  expect(new ToolNames([]).flat(grouped("crm", "find"))).toBe(one.flat(grouped("crm", "find")));
});

test("a function that took the last free name by design still leaves one", () => {
  const one = grouped("x", "y");
  const hashed = new ToolNames([{ name: "x__y" }, one]).flat(one);
  const names = new ToolNames([{ name: "x__y" }, { name: hashed }, one]);
  expect(names.qualified(names.flat(one))).toEqual(one);
  expect(names.qualified(hashed)).toEqual({ name: hashed });
});
