// Models of a folder and of added files, and what people choose for their load.

import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ModelChoices, withLoad } from "../../src/models/model-choices.ts";
import { isModel, modelsIn } from "../../src/models/model-folder.ts";
import { defaultModel, loadSettings } from "../../src/config/resolve.ts";
import { stringField, writeGguf } from "../../src/lora/gguf-write.ts";
import { tempDir } from "../helpers/tmp.ts";

/** A file of this kind below a folder. */
function put(folder: string, path: string, kind: "model" | "adapter" | "projector" = "model"): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  const type = kind === "adapter" ? [stringField("general.type", "adapter")] : [];
  const architecture = kind === "projector" ? "clip" : "llama";
  writeGguf(file, [stringField("general.architecture", architecture), ...type], []);
  return file;
}

const namesIn = (folder: string): readonly (readonly string[])[] =>
  modelsIn(folder).map(({ names }) => names);

test("all models of a folder are found, also in folders below and behind links; others are not", () => {
  const folder = tempDir();
  const elsewhere = tempDir();
  put(folder, "one.gguf");
  put(folder, "maker/two/two-Q4_K_M.gguf");
  put(folder, "maker/two/two-Q8_0.gguf");
  put(folder, "big-00001-of-00002.gguf");
  put(folder, "big-00002-of-00002.gguf");
  put(folder, "half-00001-of-00002.gguf");
  put(folder, "red.gguf", "adapter");
  put(folder, "sees.gguf", "projector");
  put(folder, ".hidden/three.gguf");
  put(folder, "a/b/c/d/e/too-deep.gguf");
  put(elsewhere, "linked.gguf");
  symlinkSync(join(elsewhere, "linked.gguf"), join(folder, "linked.gguf"));
  symlinkSync(folder, join(folder, "circle"));
  writeFileSync(join(folder, "text.gguf"), "not a model");
  writeFileSync(join(folder, "empty.gguf"), "");
  expect(namesIn(folder).toSorted(([a = ""], [b = ""]) => a.localeCompare(b))).toEqual([
    ["big"],
    ["linked"],
    ["one"],
    ["two-Q4_K_M", "maker/two/two-Q4_K_M"],
    ["two-Q8_0", "maker/two/two-Q8_0"],
  ]);
  expect(namesIn(join(folder, "nowhere"))).toEqual([]);
});

test("a projector belongs to the model beside it, among several to that of its name", () => {
  const folder = tempDir();
  put(folder, "alone/sees-Q4_K_M.gguf");
  const alone = put(folder, "alone/mmproj-F16.gguf", "projector");
  put(folder, "mixed/cat-1B-Q4_K_M.gguf");
  put(folder, "mixed/dog-1B-Q4_K_M.gguf");
  const mixed = put(folder, "mixed/mmproj-cat-1B-f16.gguf", "projector");
  const projectors = new Map(modelsIn(folder).map(({ names, mmproj }) => [names[0], mmproj]));
  expect(projectors).toEqual(
    new Map([
      ["sees-Q4_K_M", alone],
      ["cat-1B-Q4_K_M", mixed],
      ["dog-1B-Q4_K_M", undefined],
    ]),
  );
});

test("a file that is still being written becomes a model once its beginning is there", () => {
  const folder = tempDir();
  const whole = readFileSync(put(folder, "whole.gguf"));
  const copy = join(folder, "copy.gguf");
  writeFileSync(copy, whole.subarray(0, 12));
  expect(isModel(copy)).toBe(false);
  writeFileSync(copy, whole);
  expect(isModel(copy)).toBe(true);
  rmSync(copy);
  expect(isModel(copy)).toBe(false);
});

test("choices outlive the process, follow the name and file, and are taken back", () => {
  const file = join(tempDir(), "svc", "models.json");
  const lines: string[] = [];
  const open = () => new ModelChoices(file, (line) => lines.push(line));
  const entry = { ...defaultModel("/models/a.gguf"), alias: "chat" };
  const other = { ...entry, model_id: "/models/b.gguf" };
  open().keepLoad(entry, { max_seq_len: 2048, threads: 3 });
  open().addFile("/models/c.gguf");
  expect(open().loadOf(entry)).toEqual({ max_seq_len: 2048, threads: 3 });
  expect(open().loadOf(other)).toEqual({});
  expect(open().files).toEqual(["/models/c.gguf"]);
  const held = open();
  expect(held.files).toBe(held.files); // the same list while nothing has changed
  open().keepLoad(entry, {});
  expect(held.loadOf(entry)).toEqual({});
  open().forgetFile("/models/c.gguf");
  expect(held.files).toEqual([]);
  expect(lines).toEqual([]);
});

test("a damaged file of choices is told of, and not written over", () => {
  const file = join(tempDir(), "models.json");
  for (const damage of ["{", '{"load": [], "files": ["relative"]}', '{"later": 1}']) {
    writeFileSync(`${file}.new`, damage);
    renameSync(`${file}.new`, file);
    const lines: string[] = [];
    const choices = new ModelChoices(file, (line) => lines.push(line));
    expect(choices.files).toEqual([]);
    expect(() => choices.addFile("/models/c.gguf")).toThrow(/cannot write its configuration folder/);
    expect(readFileSync(file, "utf8")).toBe(damage);
    expect(lines[0]).toContain(file);
  }
});

test("chosen settings take the place of the configured ones of this model, others stay", () => {
  const loaded = loadSettings({
    flags: { "runtime.threads": "2", "models[].device.max_seq_len": "4096" },
    environment: {},
  });
  if (!loaded.ok) throw new Error("the flags are sound");
  const [entry = defaultModel("x.gguf")] = loaded.settings.models;
  const both = withLoad(entry, loaded.settings, { max_seq_len: 512, cache_type: "q8_0" });
  expect(both.entry.device.max_seq_len).toBe(512);
  expect(both.settings.paged_attn.cache_type).toBe("q8_0");
  expect(both.settings.runtime.threads).toBe(2);
  expect(loaded.settings.paged_attn.cache_type).toBe("auto");
});

test("a folder of models is enough of a configuration", () => {
  const folder = tempDir();
  const configFile = join(folder, "svc.toml");
  writeFileSync(configFile, '[server]\nmodels_dir = "models"\n');
  const loaded = loadSettings({ configFile, requireModel: true, environment: {} });
  expect(loaded.ok && loaded.settings.server.models_dir).toBe(join(folder, "models"));
});
