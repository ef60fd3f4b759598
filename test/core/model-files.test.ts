import { expect, test } from "bun:test";
import {
  chooseModelFiles,
  draftFor,
  fileRoles,
  hasSafetensors,
  partCount,
  partPath,
  projectorFor,
  quantOf,
  type Wanted,
} from "../../src/core/model-files.ts";

const REPO = [
  "README.md",
  "mmproj-model-f16.gguf",
  "imatrix.gguf",
  "model-Q4_0.gguf",
  "model-Q4_K_M.gguf",
  "model-Q8_0.gguf",
  "Q6_K/model-Q6_K-00001-of-00002.gguf",
  "Q6_K/model-Q6_K-00002-of-00002.gguf",
  "BF16/model-BF16-00002-of-00003.gguf",
];

test.each<[Wanted, readonly string[]]>([
  [{ quant: "4" }, ["model-Q4_K_M.gguf"]],
  [{ quant: "q4_0" }, ["model-Q4_0.gguf"]],
  [{ quant: "8" }, ["model-Q8_0.gguf"]],
  [{ quant: "6" }, ["Q6_K/model-Q6_K-00001-of-00002.gguf", "Q6_K/model-Q6_K-00002-of-00002.gguf"]],
  [{ file: "model-Q8_0.gguf" }, ["model-Q8_0.gguf"]],
  [
    { file: "model-Q6_K-00002-of-00002.gguf" },
    ["Q6_K/model-Q6_K-00001-of-00002.gguf", "Q6_K/model-Q6_K-00002-of-00002.gguf"],
  ],
  [{}, ["model-Q4_K_M.gguf"]],
])("%j of a repository", (wanted, parts) => {
  expect(chooseModelFiles(REPO, wanted, "Q4_K_M")).toEqual({ ok: true, parts });
});

test.each([
  [["config.json", "model.safetensors"], true],
  [["config.json", "model-00001-of-00002.safetensors", "a.gguf"], true],
  [["model.safetensors"], false],
  [["config.json", "unet/model.safetensors"], false],
  [["config.json", "adapter_config.json", "adapter_model.safetensors"], false],
])("%j can be converted: %s", (paths, expected) => {
  expect(hasSafetensors(paths)).toBe(expected);
});

test("a folder with safetensors alone is refused with the command that converts it", () => {
  const chosen = chooseModelFiles(["config.json", "model.safetensors"], {});
  expect(chosen).toMatchObject({ ok: false, fix: expect.stringContaining("svc convert") });
});

test.each<[readonly string[], Wanted, string]>([
  [["README.md", "model.safetensors"], {}, "there is no GGUF file in it"],
  [REPO, {}, "it holds 5 models that fit"],
  [REPO, { quant: "5" }, "no file in it has the quantization 5"],
  [REPO, { file: "absent.gguf" }, "there is no file absent.gguf in it"],
  [REPO, { quant: "BF16" }, "1 of the 3 parts of BF16/model-BF16-00002-of-00003.gguf are there"],
  [["a-Q8_0.gguf", "b-Q8_0.gguf"], { quant: "8" }, "it holds 2 models that fit"],
])("%j, %j: %s", (paths, wanted, what) => {
  expect(chooseModelFiles(paths, wanted)).toMatchObject({ ok: false, what });
});

test("a single model needs no choice", () => {
  expect(chooseModelFiles(["x.gguf", "mmproj-x.gguf"], {})).toEqual({ ok: true, parts: ["x.gguf"] });
});

test.each([
  ["Qwen3-0.6B-Q4_K_M.gguf", "Q4_K_M"],
  ["model.q8_0.gguf", "Q8_0"],
  ["x-UD-IQ2_XXS.gguf", "IQ2_XXS"],
  ["gpt-MXFP4.gguf", "MXFP4"],
  ["a/b-BF16-00001-of-00002.gguf", "BF16"],
  ["Q4_K_M/plain.gguf", undefined],
  ["Qwen2.gguf", undefined],
])("the quantization of %s is %p", (path, quant) => {
  expect(quantOf(path)).toBe(quant);
});

test("parts of split files", () => {
  expect(partCount("a-00002-of-00012.gguf")).toBe(12);
  expect(partCount("a.gguf")).toBe(1);
  expect(partPath("d/a-00002-of-00012.gguf", 10)).toBe("d/a-00010-of-00012.gguf");
  expect(partPath("a.gguf", 1)).toBe("a.gguf");
});

const VISION = [
  "README.md",
  "adapter_config.json",
  "imatrix_unsloth.dat",
  "mmproj-BF16.gguf",
  "mmproj-F16.gguf",
  "mtp-x-Q8_0.gguf",
  "small/mmproj-F32.gguf",
  "small/x-small-Q4_0.gguf",
  "x-Q4_K_M.gguf",
  "x-draft-Q4_K_M.gguf",
  "x-lora-F16.gguf",
];

test("roles of files by their names", () => {
  expect(Object.fromEntries(fileRoles(VISION))).toEqual({
    "README.md": "other",
    "adapter_config.json": "adapter",
    "imatrix_unsloth.dat": "importance",
    "mmproj-BF16.gguf": "projector",
    "mmproj-F16.gguf": "projector",
    "mtp-x-Q8_0.gguf": "draft",
    "small/mmproj-F32.gguf": "projector",
    "small/x-small-Q4_0.gguf": "model",
    "x-Q4_K_M.gguf": "model",
    "x-draft-Q4_K_M.gguf": "draft",
    "x-lora-F16.gguf": "adapter",
  });
});

test("projector and draft model: the nearest folder, then the type", () => {
  expect(projectorFor("x-Q4_K_M.gguf", VISION)).toBe("mmproj-F16.gguf");
  expect(projectorFor("small/x-small-Q4_0.gguf", VISION)).toBe("small/mmproj-F32.gguf");
  expect(draftFor("x-Q4_K_M.gguf", VISION)).toBe("x-draft-Q4_K_M.gguf");
  expect(draftFor("small/x-small-Q4_0.gguf", VISION)).toBe("mtp-x-Q8_0.gguf");
  expect(projectorFor("x.gguf", ["x.gguf"])).toBeUndefined();
  expect(draftFor("x.gguf", ["x.gguf"])).toBeUndefined();
});

test("drafts and adapters are models where there is nothing else, or where they are named", () => {
  const only = ["x-MTP-Q4_K_M.gguf", "x-MTP-Q8_0.gguf"];
  expect(chooseModelFiles(only, { quant: "8" })).toEqual({ ok: true, parts: ["x-MTP-Q8_0.gguf"] });
  expect(chooseModelFiles(VISION, { quant: "8" })).toMatchObject({ ok: false });
  expect(chooseModelFiles(VISION, { file: "mtp-x-Q8_0.gguf" })).toEqual({
    ok: true,
    parts: ["mtp-x-Q8_0.gguf"],
  });
  expect(chooseModelFiles(["adapter_config.json", "adapter_model.safetensors"], {})).toMatchObject({
    ok: false,
    what: "it holds a LoRA adapter and no model",
  });
});
