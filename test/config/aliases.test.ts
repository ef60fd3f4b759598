// Other names for models: from files and flags, and what aborts the start.

import { describe, expect, test } from "bun:test";
import { modelAliases } from "../../src/http/model-alias.ts";
import { loadSettings } from "../../src/config/resolve.ts";
import { aliasParts } from "../../src/config/alias-entry.ts";
import { tempDir } from "../helpers/tmp.ts";

const folder = tempDir();

async function load(toml: string) {
  const file = `${folder}/svc.toml`;
  await Bun.write(file, toml);
  return loadSettings({ configFile: file, environment: {} });
}

const MODEL = '[[models]]\nmodel_id = "svc-tiny"\nalias = "tiny"\n';

test("tables and pairs are equivalent", async () => {
  const loaded = await load(`${MODEL}[[aliases]]\nname = "gpt-4o"\nmodel = "tiny"\n`);
  const pairs = await load(`aliases = ["gpt-4o=tiny"]\n${MODEL}`);
  for (const one of [loaded, pairs]) {
    if (!one.ok) throw new Error(JSON.stringify(one.problems));
    expect(one.settings.aliases?.map(aliasParts)).toEqual([{ name: "gpt-4o", model: "tiny" }]);
  }
});

test.each([
  ['["tiny=default"]', '"tiny" is the name of a model'],
  ['["default=tiny"]', '"default" is the name of a model'],
  ['["a=tiny", "a=default"]', 'two aliases have the name "a"'],
  ['["a=nope"]', "which is not served"],
])("%s aborts the start", async (aliases, what) => {
  const loaded = await load(`aliases = ${aliases}\n${MODEL}`);
  if (loaded.ok) throw new Error("it was accepted");
  expect(loaded.problems.map((problem) => problem.what).join()).toContain(what);
});

describe("svc run -m NAME", () => {
  const file = `${folder}/run.toml`;
  const SECOND = '[[models]]\nmodel_id = "svc-tiny"\nalias = "second"\n';
  const ALIASES = '[[aliases]]\nname = "pirate"\nmodel = "second"\ndefaults.system = "Arr."\n';
  const run = async (name: string, command: "run" | "serve" = "run") => {
    await Bun.write(file, MODEL + SECOND + ALIASES);
    const flags = { "models[].model_id": name };
    const loaded = loadSettings({ command, configFile: file, flags, environment: {}, folder });
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
    const { assistant, default_model_id, models } = loaded.settings;
    return { assistant, default_model_id, models: models.map(({ alias }) => alias) };
  };

  test("begins with an alias of the file, and its models", async () => {
    expect(await run("pirate")).toEqual({
      assistant: "pirate",
      default_model_id: undefined,
      models: ["tiny", "second"],
    });
  });

  test("begins with a model of the file by its alias", async () => {
    expect(await run("second")).toEqual({
      assistant: undefined,
      default_model_id: "second",
      models: ["tiny", "second"],
    });
  });

  test("a file of that name is the file; a server takes -m as a model", async () => {
    expect(JSON.stringify(await run("pirate", "serve").catch(String))).toContain("pirate");
    await Bun.write(`${folder}/pirate`, "no model");
    expect(JSON.stringify(await run("pirate").catch(String))).toContain("pirate");
  });
});

describe("patterns", () => {
  const { exact, fitting } = modelAliases([
    { name: "claude-*", model: "big" },
    { name: "claude-haiku*", model: "small" },
    { name: "claude-haiku-4", model: "exact" },
    { name: "gpt-?", model: "one" },
    { name: "a.b*", model: "dot" },
  ]);

  test("an exact name wins, then the longest matching pattern", () => {
    expect(
      ["claude-x", "claude-haiku-9", "claude-haiku-4", "gpt-5", "a.bc"].map((name) => fitting(name)?.model),
    ).toEqual(["big", "small", "exact", "one", "dot"]);
  });

  test("match whole names, literally except for *", () => {
    expect(["xclaude-", "gpt-55", "axbc", "claude"].map(fitting)).toEqual(Array(4).fill(undefined));
    expect(exact("claude-x")).toBeUndefined();
  });

  test("are not matched against very long names", () => {
    expect(fitting(`claude-${"x".repeat(1_000_000)}`)).toBeUndefined();
  });
});
