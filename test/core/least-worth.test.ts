// What goes when there is too much: never a client's in favour of one who has more.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { type Holder, leastWorth, leastWorthBeyond } from "../../src/core/least-worth.ts";

const holder = fc.record({
  client: fc.constantFrom("a", "b", "c"),
  isBrief: fc.boolean(),
  isFixed: fc.boolean(),
  size: fc.integer({ min: 1, max: 50 }),
});
const holders = fc
  .array(holder, { maxLength: 30 })
  .map((all) => all.map((one, item): Holder<number> & { size: number } => ({ ...one, item })));

const sum = (all: readonly { readonly size: number }[]): number =>
  all.reduce((total, { size }) => total + size, 0);

test("without holders nothing goes", () => {
  expect(leastWorth([])).toBeUndefined();
  expect(leastWorthBeyond(0, [], "a")).toEqual([]);
});

test("what goes makes enough room, was free to go, and left no client with less than the one who asked", () => {
  const property = fc.property(holders, fc.integer({ min: 0, max: 300 }), (all, room) => {
    const gone = leastWorthBeyond(room, all, "a");
    const of = (client: string, left: typeof all) => sum(left.filter((one) => one.client === client));
    if (gone === undefined) return;
    let left = all;
    for (const item of gone) {
      const victim = all[item];
      expect(victim?.isFixed).toBe(false);
      if (victim === undefined) continue;
      if (victim.client !== "a" && !victim.isBrief)
        expect(of(victim.client, left)).toBeGreaterThan(of("a", left));
      left = left.filter((one) => one.item !== item);
    }
    expect(sum(left)).toBeLessThanOrEqual(room);
  });
  fc.assert(property);
});

test("where only those of clients with less could go, nothing does", () => {
  const all = [
    { item: "b's", client: "b", size: 10 },
    { item: "new", client: "a", size: 95, isFixed: true },
  ];
  expect(leastWorthBeyond(100, all, "a")).toBeUndefined();
  expect(leastWorthBeyond(100, [...all, { item: "a's", client: "a", size: 1 }], "a")).toBeUndefined();
  expect(leastWorthBeyond(105, all, "a")).toEqual([]);
});

test("many things are sorted out at once", () => {
  const all = Array.from({ length: 50_000 }, (_, item) => ({ item, client: `${item % 50}` }));
  expect(leastWorthBeyond(100, all, "0")).toHaveLength(49_900);
});
