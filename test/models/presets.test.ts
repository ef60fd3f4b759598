// Defaults of a model by its settings, its file, the generation_config.json beside it, and svc.

import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { modelPreset } from "../../src/models/presets.ts";
import { defaultModel } from "../../src/config/resolve.ts";
import { type Field, FIELD } from "../../src/core/gguf.ts";
import { BASE_ANSWER_TOKENS, presetOfLayers, sourcesOfLayers, SVC_PRESET } from "../../src/core/preset.ts";
import { boolField, f32Field, stringField, u32Field, writeGguf } from "../../src/lora/gguf-write.ts";
import { atEnd } from "../helpers/at-end.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-presets-"));
atEnd(() => rmSync(folder, { recursive: true }));

function i32Field(key: string, value: number): Field {
  return { key, type: FIELD.i32, raw: new Uint8Array(Int32Array.of(value).buffer) };
}

/** Without a template, a model is a base model. */
const TEMPLATE = stringField("tokenizer.chat_template", "{{ messages }}");
const OPTIONS = { settings: { runtime: {} }, cacheDir: folder };

/** A file in a folder of its own. */
function fileWith(name: string, fields: readonly Field[], config?: string): string {
  mkdirSync(join(folder, name));
  const path = join(folder, name, "model.gguf");
  writeGguf(path, [stringField("general.architecture", "llama"), TEMPLATE, ...fields], []);
  if (config !== undefined) writeFileSync(join(folder, name, "generation_config.json"), config);
  return path;
}

test("the file's word counts before that of its repository, field by field, and settings before both", () => {
  const path = fileWith(
    "both",
    [
      f32Field("general.sampling.temp", 0.6),
      i32Field("general.sampling.top_k", 20),
      f32Field("general.sampling.penalty_repeat", 1.05),
    ],
    JSON.stringify({ temperature: 0.7, top_p: 0.8, do_sample: true }),
  );
  const model = defaultModel(path);
  const layers = modelPreset({ ...model, defaults: { ...model.defaults, top_k: 7 } }, OPTIONS)();
  expect(presetOfLayers(layers)).toEqual({
    temperature: 0.6,
    top_k: 7,
    top_p: 0.8,
    min_p: 0.05,
    repetition_penalty: 1.05,
  });
  expect(sourcesOfLayers(layers)).toEqual({
    temperature: "file",
    top_k: "settings",
    top_p: "repository",
    min_p: "svc",
    repetition_penalty: "file",
  });
  const ignoring = { ...model, defaults: { ...model.defaults, generation_config: false } };
  expect(presetOfLayers(modelPreset(ignoring, OPTIONS)())).toEqual(SVC_PRESET);
});

test.each([
  ["whole numbers as such", [u32Field("general.sampling.temp", 1), u32Field("general.sampling.top_p", 1)]],
  ["cuts switched off", [f32Field("general.sampling.temp", 1), f32Field("general.sampling.top_p", 1)]],
])("a file with %s is taken at its word", (name, fields) => {
  const preset = presetOfLayers(modelPreset(defaultModel(fileWith(name, fields)), OPTIONS)());
  expect(preset).toEqual({ ...SVC_PRESET, temperature: 1, top_p: 1 });
});

test.each([
  ["a negative temperature", f32Field("general.sampling.temp", -1)],
  ["a temperature that is no number", f32Field("general.sampling.temp", NaN)],
  ["a temperature as text", stringField("general.sampling.temp", "0.7")],
  ["a temperature that is true", boolField("general.sampling.temp", true)],
  ["an infinite penalty", f32Field("general.sampling.penalty_repeat", Infinity)],
  ["no tokens at all", f32Field("general.sampling.top_p", 0)],
  ["a negative cap", i32Field("general.sampling.top_k", -1)],
])("a file with %s is ignored", (name, field) => {
  expect(presetOfLayers(modelPreset(defaultModel(fileWith(name, [field])), OPTIONS)())).toEqual(SVC_PRESET);
});

test("an upstream model has no defaults but those of its settings; the built-in one asks for no cuts", () => {
  expect(modelPreset({ ...defaultModel("a/b"), kind: "upstream" }, OPTIONS)()).toEqual({ settings: {} });
  const builtin = presetOfLayers(modelPreset(defaultModel("svc-tiny"), OPTIONS)());
  expect(builtin).toEqual({ temperature: 1, top_k: 0, top_p: 1, min_p: 0 });
});

test("a model that is not here yet is asked again", () => {
  const path = join(folder, "later", "model.gguf");
  const presets = modelPreset(defaultModel(path), OPTIONS);
  expect(presetOfLayers(presets())).toEqual(SVC_PRESET);
  fileWith("later", [f32Field("general.sampling.temp", 0.25)]);
  expect(presetOfLayers(presets()).temperature).toBe(0.25);
});

test("a base model's answers have a bound, unless settings name a template or a bound", () => {
  mkdirSync(join(folder, "base"));
  const path = join(folder, "base", "model.gguf");
  writeGguf(path, [stringField("general.architecture", "llama")], []);
  const model = defaultModel(path);
  const cap = (one: typeof model) => presetOfLayers(modelPreset(one, OPTIONS)()).max_tokens;
  expect(cap(model)).toBe(BASE_ANSWER_TOKENS);
  expect(cap({ ...model, chat_template: "chat.jinja" })).toBeUndefined();
  expect(cap({ ...model, defaults: { ...model.defaults, max_tokens: 7 } })).toBe(7);
});
