// The table of sampling options against what is written by hand: the native interface and the documents.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  DEFAULT_SAMPLING,
  isInRange,
  paramOf,
  SAMPLING_NAMES,
  samplingOption,
  usedOptions,
} from "../../src/core/sampling.ts";

const read = (path: string): string => readFileSync(join(import.meta.dir, "../..", path), "utf8");

test("each option has a column of its own in the native interface, which names it", () => {
  const comment = /\/\/ params: f32 columns: ([\s\S]*?)\.\n/.exec(read("ffi/shim/svc_llama.h"))?.[1] ?? "";
  const columns = [...comment.matchAll(/(\d+) ([a-z_ ]+) \(/g)].map(([, column, name = ""]) => [
    Number(column),
    name.replace(" ", "_"),
  ]);
  expect(columns).toEqual(
    SAMPLING_NAMES.map((name) => [samplingOption(name).column, name]).sort(
      ([a], [b]) => Number(a) - Number(b),
    ),
  );
});

test("docs/sampling.md has each option with its neutral value", () => {
  const page = read("docs/sampling.md");
  for (const name of SAMPLING_NAMES)
    expect(page).toMatch(new RegExp(`^\\| \`${name}\` \\|.*\\| ${samplingOption(name).neutral} \\|$`, "m"));
});

test("a neutral value, a default and an example are in range; a neutral one changes nothing", () => {
  expect(usedOptions(DEFAULT_SAMPLING)).toEqual([]);
  for (const name of SAMPLING_NAMES) {
    const { neutral, svcDefault = neutral, example } = samplingOption(name);
    for (const value of [neutral, svcDefault, example]) expect(isInRange(name, value)).toBe(true);
    expect(usedOptions({ ...DEFAULT_SAMPLING, [paramOf(name)]: example })).toEqual([name]);
  }
});

test("values outside the range are known", () => {
  for (const [name, value] of [
    ["temperature", 2.1],
    ["temperature", NaN],
    ["top_p", 0],
    ["top_k", 1.5],
    ["top_k", -1],
    ["repetition_penalty", 0],
    ["repetition_penalty", Infinity],
  ] as const)
    expect(isInRange(name, value)).toBe(false);
});
