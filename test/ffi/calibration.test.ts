// Importance statistics from real decodes, and what the quantizer makes of them.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { quantizeFile } from "../../ffi/llama/quantize.ts";
import { fileTypeNumber } from "../../src/core/quantization.ts";
import { textOf } from "../../src/core/gguf.ts";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { chatRequest, runAll } from "../helpers/engine-run.ts";
import { native, tinyBackend, TINY_PATH } from "../helpers/native.ts";
import { tempDir } from "../helpers/tmp.ts";

const QUESTIONS = ["What is the capital of France?", "What is 3 + 4?", "Who are you?", "Hello!"];
const NONE = { key: "", type: 0, raw: new Uint8Array() };
const LAYERS = 6;
const MATRICES = LAYERS * 7; // query, key, value, output, gate, up, down

let backend: LlamaBackend;
beforeAll(async () => void (backend = await tinyBackend()));
afterAll(() => backend.close());

const run = () =>
  runAll(
    backend,
    QUESTIONS.map((text) => chatRequest(text, { maxTokens: 16 })),
  );

test("statistics are collected only on request, without an effect on answers", () => {
  const before = run();
  expect(backend.calibration.counts()).toEqual({
    collecting: false,
    matrices: 0,
    rowsMin: 0,
    rowsMax: 0,
    rowsTotal: 0,
  });
  backend.calibration.start(0);
  expect(run()).toEqual(before);
  const counts = backend.calibration.counts();
  expect(counts).toMatchObject({ collecting: true, matrices: MATRICES });
  expect(counts.rowsMax).toBeGreaterThan(60); // the prompts alone
  expect(counts.rowsMin).toBeGreaterThan(20); // the last layer sees only the rows that a token is drawn from
  expect(counts.rowsTotal).toBeLessThan(counts.rowsMax * MATRICES);
  backend.calibration.stop();
  run();
  expect(backend.calibration.counts()).toEqual({ ...counts, collecting: false });
});

test("collection stops at the row limit; a restart clears the statistics", () => {
  backend.calibration.start(10);
  run();
  const { rowsMax, rowsMin } = backend.calibration.counts();
  expect(rowsMin).toBeGreaterThanOrEqual(10);
  expect(rowsMax).toBeLessThan(10 + 512); // the step in which it was reached is counted whole
  run();
  expect(backend.calibration.counts()).toMatchObject({ rowsMin, rowsMax });
  backend.calibration.start(0);
  expect(backend.calibration.counts()).toMatchObject({ collecting: true, matrices: 0 });
  expect(() => backend.calibration.save(join(tempDir(), "none.gguf"))).toThrow("nothing has been collected");
});

test("the quantizer reads the saved importance matrix", async () => {
  backend.calibration.start(0);
  run();
  const importance = join(tempDir(), "importance.gguf");
  backend.calibration.save(importance);
  const header = readGgufHeader(importance);
  expect(textOf(header.fields.get("general.type") ?? NONE)).toBe("imatrix");
  expect(header.tensors.get("blk.0.attn_q.weight.in_sum2")?.shape).toEqual([256]);
  expect(header.tensors.get("blk.0.attn_q.weight.counts")?.shape).toEqual([1]);
  const plain = join(tempDir(), "plain.gguf");
  const calibrated = join(tempDir(), "calibrated.gguf");
  const call = { input: TINY_PATH, type: fileTypeNumber("Q4_K_M"), threads: 1, quiet: true };
  expect(quantizeFile(native(), { ...call, output: plain, importance: undefined })).toBeUndefined();
  expect(quantizeFile(native(), { ...call, output: calibrated, importance })).toBeUndefined();
  expect(statSync(plain).size).toBeLessThan(statSync(TINY_PATH).size);
  expect(await Bun.file(plain).bytes()).not.toEqual(await Bun.file(calibrated).bytes());
  const smaller = await tinyBackend({}, calibrated);
  const [answer] = runAll(smaller, [chatRequest("What is the capital of France?")]);
  expect(Array.isArray(answer) ? answer[0]?.text : answer).toBe("The capital of France is Paris.");
  smaller.close();
});

test("unsupported operations fail with a reason", () => {
  const call = {
    input: TINY_PATH,
    output: join(tempDir(), "out.gguf"),
    type: 15,
    threads: 1,
    importance: undefined,
  };
  expect(quantizeFile(native(), { ...call, input: join(tempDir(), "none.gguf") })).toContain(
    "could not be quantized",
  );
  expect(quantizeFile(native(), { ...call, importance: TINY_PATH })).toContain("importance matrix");
});
