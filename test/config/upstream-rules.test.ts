// Mistakes in models on upstream servers are found before the start, with their place and fix.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatProblem } from "../../src/config/problem.ts";
import { loadSettings } from "../../src/config/resolve.ts";
import { tempDir } from "../helpers/tmp.ts";

const folder = tempDir();

function problemsOf(toml: string): readonly string[] {
  writeFileSync(join(folder, "svc.toml"), toml);
  const result = loadSettings({ command: "serve", configFile: "svc.toml", environment: {}, folder });
  return result.ok ? [] : result.problems.map(formatProblem);
}

const model = (id: string, more = "", upstream = 'url = "http://gpu1:8000/v1"\n'): string =>
  `[[models]]\nmodel_id = "${id}"\nkind = "upstream"\n${more}[[models.upstreams]]\n${upstream}`;

test("a pool with fallbacks, routing, keys and a probe is accepted", () => {
  const routing = '[models.routing]\npolicy = "least_busy"\nretries = 0\n';
  const upstream = 'url = "https://gpu1/v1"\nkey = "env:KEY"\nweight = 2\nprobe = true\n';
  const big = model("big", `fallback = ["small", "svc-tiny"]\n${routing}`, upstream);
  expect(problemsOf(`${big}${model("small")}[[models]]\nmodel_id = "svc-tiny"\n`)).toEqual([]);
});

test.each([
  [
    "a cycle",
    model("a", 'fallback = ["b"]\n') + model("b", 'fallback = ["a"]\n'),
    "leads back to its own model: b -> a",
  ],
  ["itself", model("a", 'fallback = ["a"]\n'), "leads back to its own model: a"],
  ["no such fallback", model("a", 'fallback = ["c"]\n'), 'no model is called "c"'],
  ["no upstreams", '[[models]]\nmodel_id = "a"\nkind = "upstream"\n', "missing"],
  ["no address", model("a", "", 'model = "m"\n'), "Every upstream needs a url"],
  [
    "an address with a user",
    model("a", "", 'url = "http://me:pw@gpu1/v1"\n'),
    "without user, query or fragment",
  ],
  [
    "a bare key",
    model("a", "", 'url = "http://gpu1/v1"\nkey = "sk-1"\n'),
    "not a place that a key can come from",
  ],
  [
    "one server twice",
    `${model("a")}[[models.upstreams]]\nurl = "http://gpu1:8000/v1"\n`,
    "is the same upstream as",
  ],
  [
    "a setting of an engine",
    model("a", "[models.device]\ndevice_layers = 1\n"),
    "is for models that svc runs itself",
  ],
  [
    "a fallback of an engine",
    '[[models]]\nmodel_id = "svc-tiny"\nfallback = ["x"]\n',
    'needs kind = "upstream"',
  ],
  [
    "an API other than chat completions",
    model("a", "", 'url = "http://gpu1/v1"\ndialect = "messages"\n'),
    "models[0].upstreams[0].dialect: svc asks upstreams by chat completions alone. Remove it.",
  ],
  [
    "a probe of images",
    model("a", 'serves = "image"\n', 'url = "http://gpu1/v1"\nprobe = true\n'),
    "is for text models",
  ],
])("%s", (_, toml, expected) => {
  const problems = problemsOf(toml);
  expect(problems.join("\n")).toContain(expected);
  expect(problems.join("\n")).not.toContain("sk-1");
});
