// What is said of mistakes in lists, names and keys: which entry, which field, and what it may be.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatProblem } from "../../src/config/problem.ts";
import { loadSettings } from "../../src/config/resolve.ts";
import { tempDir } from "../helpers/tmp.ts";

function load(toml: string) {
  const folder = tempDir();
  writeFileSync(join(folder, "a.gguf"), "GGUF\u0003\0\0\0");
  writeFileSync(join(folder, "svc.toml"), toml);
  return loadSettings({ command: "serve", configFile: "svc.toml", environment: {}, folder });
}

const KEY = '[[keys]]\nname = "a"\nkey = "SECRET"';
const MODEL = '[[models]]\nmodel_id = "a.gguf"';

test.each([
  ["[runtime]\nprefill_share = nan", "NaN is not a number from 0.1 to 1"],
  ['[[model]]\nmodel_id = "svc-tiny"', "Write [[models]]."],
  [`${MODEL}\nquantization.isq = "q4_k"`, 'Did you mean "Q4_K_S"?'],
  ['[paged_attn]\ncache_type = "q3"', "Leave it out for the default"],
  [`${MODEL}\nalias = "x\\u001b[31m"`, String.raw`models[0].alias: "x\u001b[31m" has control`],
  [String.raw`aliases = ["x\ny=default"]`, "has control characters"],
  [String.raw`server.state = "sqlite:a\u0000b"`, "server.state: this holds a NUL character"],
  [`${MODEL}\nadapter.lora = [{ alias = "x" }]`, "adapter.lora[0].source: missing. Add it."],
  ['[server]\ntrusted_proxies = ["10.0.0.1", "10.0.0.0/99"]', 'proxies[1]: "10.0.0.0/99" is neither'],
  ['[server]\ntrusted_proxies = ["fd00::/8", "proxy.example"]', "has an invalid entry"],
  ['[[keys]]\nname = "a"', "keys[0]: needs name and key"],
  [`${KEY}\nuser = "b"`, "keys[0]: needs name and key"],
  ['keys = ["a=SECRET", "a=two"]', 'keys[1]: has the name of keys[0], "a"'],
  ['keys = ["a=SECRET", "b=SECRET"]', "keys[1].key: is the key of keys[0]"],
  [`${KEY}\nexpires = "2027-02-30"`, "keys[0].expires: there is no such day"],
  [
    'keys = ["a=one", { name = "b", key = "SECRET", rpm = -1 }]',
    "keys[1].rpm: does not fit: expected integer",
  ],
  [`${KEY}\nbudget = 5`, "keys[0].budget: unknown key."],
  [`${KEY}\nmodel = ["x"]`, "Did you mean models?"],
  [`${KEY}\nmodels = ["x", ""]`, "keys[0].models[1]: does not fit"],
  ['keys = ["SECRET"]', "keys[0]: this has an invalid entry"],
])("%p: %s", (toml, words) => {
  const result = load(toml);
  const problems = result.ok ? [] : result.problems.map(formatProblem);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(words);
  expect(problems[0]).not.toContain("SECRET");
});

test("a date may stand without quotes", () => {
  const result = load(`${KEY}\nexpires = 2027-01-31`);
  expect(result.ok && result.settings.keys).toEqual([{ name: "a", key: "SECRET", expires: "2027-01-31" }]);
});
