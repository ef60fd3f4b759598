// Rows of weights by memory node (ffi/kernels/memory_nodes.h), with nodes that are only pretended: answers are the same bits alone and
// under load. The libraries read the nodes once, so processes of their own compute. SVC_SLOW_TESTS=1 takes all types and architectures.

import { expect, test } from "bun:test";
import { dlopen } from "bun:ffi";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { quantizeFile } from "../../ffi/llama/quantize.ts";
import { fileTypeNumber, type FileType } from "../../src/core/quantization.ts";
import { architectureModel } from "../helpers/architecture-models.ts";
import { ARCHITECTURE_NAMES } from "../helpers/architectures.ts";
import { alone, mixed, Mixer, randomAsks } from "../helpers/mixes.ts";
import { native, TINY_PATH, tinyBackend } from "../helpers/native.ts";
import { tinyExperts } from "../helpers/tiny-experts.ts";
import { tempDir } from "../helpers/tmp.ts";
import { random } from "../helpers/world.ts";

const SLOW = process.env.SVC_SLOW_TESTS === "1";
const TYPES: readonly FileType[] = SLOW
  ? [
      "F16",
      "BF16",
      "Q8_0",
      "Q6_K",
      "Q5_K_S",
      "Q4_K_S",
      "Q4_1",
      "Q4_0",
      "IQ4_XS",
      "IQ4_NL",
      "Q5_0",
      "Q5_1",
      "Q3_K_S",
      "Q2_K",
    ]
  : ["F16", "Q4_K_S"];
const ARCHITECTURES = SLOW ? ARCHITECTURE_NAMES : ["qwen3next"];
const ASKS = SLOW ? 12 : 4;
/** Threads that sleep at a barrier, as passes of tiny models on a busy machine spend their time there. */
const SLEEPING = { GOMP_SPINCOUNT: "500" };
/** Set in the processes that compute: a folder for quantized files. */
const FOLDER = process.env.SVC_TEST_NODE_MODELS;

interface Model {
  readonly name: string;
  readonly path: string;
  readonly type: FileType;
}

function models(): readonly Model[] {
  const [experts, plain] = [tinyExperts(), TINY_PATH];
  return [
    ...TYPES.map((type) => ({ name: `experts-${type}`, path: experts, type })),
    ...(SLOW ? TYPES : []).map((type) => ({ name: `plain-${type}`, path: plain, type })),
    ...ARCHITECTURES.map((name) => ({ name, path: architectureModel(name), type: "Q8_0" as const })),
  ];
}

function quantized({ name, path, type }: Model, folder: string): string {
  const output = join(folder, `${name}.gguf`);
  const call = { input: path, type: fileTypeNumber(type), threads: 2, quiet: true, importance: undefined };
  if (!existsSync(output)) expect(quantizeFile(native(), { ...call, output })).toBeUndefined();
  return output;
}

/** How many nodes the library for this processor counts. */
function countedNodes(): number {
  native();
  const [library] = /\/\S*libggml-cpu-\w+\.so/.exec(readFileSync("/proc/self/maps", "utf8")) ?? [];
  if (library === undefined) throw new Error("no library for this processor is loaded");
  return dlopen(library, { svc_nodes: { args: [], returns: "i32" } }).symbols.svc_nodes();
}

/** Prints the number of nodes and the answers of each model, one line each. */
async function compute(folder: string): Promise<void> {
  console.log(countedNodes());
  for (const model of models()) {
    const chance = random(7);
    const below = (n: number): number => Math.floor(chance() * n);
    const asks = randomAsks(ASKS, below, { promptMax: 60, answerMax: 24 });
    const backend = await tinyBackend({ maxSeqs: 4, contextLen: 512 }, quantized(model, folder)).catch(
      String,
    );
    if (typeof backend === "string") {
      console.log(JSON.stringify({ model: model.name, refused: true }));
      continue;
    }
    const single = await alone(backend, asks);
    let clock = 0;
    const mixer = new Mixer(backend, { now: () => clock++ });
    const together = await mixed(mixer, asks, below);
    mixer.engine.close();
    backend.close();
    console.log(JSON.stringify({ model: model.name, single, together }));
  }
}

async function answersWith(nodes: number, folder: string): Promise<readonly string[]> {
  const emulated = nodes === 1 ? "" : `emulated:${nodes}`;
  const child = Bun.spawn([process.execPath, "test", "--timeout", "3600000", import.meta.path], {
    env: { ...process.env, ...SLEEPING, SVC_TEST_NODE_MODELS: folder, SVC_MEMORY_NODES: emulated },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect({ code, errors: code === 0 ? "" : errors }).toEqual({ code: 0, errors: "" });
  const lines = output.split("\n");
  expect(lines).toContain(String(nodes));
  return lines.filter((line) => line.startsWith("{"));
}

if (FOLDER !== undefined) test("answers", () => compute(FOLDER));
else
  test("rows of weights by memory node change no bit of an answer", async () => {
    const folder = tempDir();
    const wanted = await answersWith(1, folder);
    expect(wanted.filter((line) => !line.includes('"refused"')).length).toBeGreaterThan(TYPES.length);
    for (const nodes of SLOW ? [2, 3] : [2]) expect(await answersWith(nodes, folder)).toEqual([...wanted]);
  }, 3_600_000);
