// The settings table itself: derived names are unique, complete and what the interface calls them.

import { expect, test } from "bun:test";
import { editDistance, nearest } from "../../src/config/nearest.ts";
import { header, ROWS, rowAt, sectionAt, SECTIONS } from "../../src/config/table.ts";

test("the table has every section of the specification", () => {
  expect(ROWS.length).toBeGreaterThan(100);
  expect(SECTIONS.map(header)).toEqual([
    "[server]",
    "[runtime]",
    "[paged_attn]",
    "[sandbox]",
    "[global]",
    "[log]",
    "[[models]]",
    "[models.format]",
    "[models.adapter]",
    "[models.quantization]",
    "[models.device]",
    "[models.multimodal]",
    "[models.image]",
    "[models.speech]",
    "[models.defaults]",
    "[models.routing]",
    "[[models.upstreams]]",
  ]);
});

test("no two settings share a flag, a letter or an environment name", () => {
  const names = ROWS.flatMap((row) => [row.flag, row.short, ...row.env].filter((name) => name !== undefined));
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test("every setting is described, and shows something in the example file", () => {
  for (const row of ROWS) {
    expect(row.description, row.path).toMatch(/^.+\.$/);
    if (row.status === "available") expect(row.example, row.path).toBeDefined();
  }
});

test.each([
  ["server.port", "--port", "SVC_PORT", 1234],
  ["server.host", "--host", "SVC_HOST", "0.0.0.0"],
  ["runtime.max_seqs", "--max-seqs", "SVC_MAX_SEQS", 32],
  ["runtime.prefix_cache_n", "--prefix-cache-n", "SVC_PREFIX_CACHE_N", 16],
  ["runtime.code_exec_timeout", "--code-exec-timeout", "SVC_CODE_EXEC_TIMEOUT", 60],
  ["runtime.shell_timeout", "--shell-timeout", "SVC_SHELL_TIMEOUT", 600],
  ["paged_attn.mode", "--paged-attn", "SVC_PAGED_ATTN", "auto"],
  ["paged_attn.memory_mb", "--pa-memory-mb", "SVC_PA_MEMORY_MB", undefined],
  ["sandbox.mode", "--sandbox", "SVC_SANDBOX", "auto"],
  ["sandbox.max_memory_mb", "--sb-max-memory-mb", "SVC_SB_MAX_MEMORY_MB", 2048],
  ["models[].model_id", "--model", "SVC_MODEL", undefined],
  ["models[].device.device_layers", "--num-device-layers", "SVC_NUM_DEVICE_LAYERS", undefined],
  ["models[].adapter.lora_max_bytes", "--lora-max-bytes", "SVC_LORA_MAX_BYTES", 8 * 1024 ** 3],
])("%s is %s and %s", (path, flag, env, fallback) => {
  const row = rowAt(path);
  expect(row?.flag).toBe(flag);
  expect(row?.env).toEqual([env, env.replace("SVC_", "SERVICE_")]);
  expect(row?.defaultValue).toBe(fallback);
});

test("indexes and alternative spellings find the same row", () => {
  expect(rowAt("models[7].device.cpu")?.path).toBe("models[].device.cpu");
  expect(rowAt("runtime.agentic")?.path).toBe("runtime.agent");
  expect(sectionAt("models[0].device")?.path).toBe("models[].device");
  expect(rowAt("models[0].device")).toBeUndefined();
});

test.each([
  ["port", "port", 0],
  ["prot", "port", 2],
  ["", "abc", 3],
  ["max_seq", "max_seqs", 1],
])("distance of %p and %p", (from, to, distance) => {
  expect(editDistance(from, to)).toBe(distance);
});

test("nearest returns nothing for dissimilar words", () => {
  expect(nearest("prot", ["host", "port"])).toBe("port");
  expect(nearest("banana", ["host", "port"])).toBeUndefined();
});
