// Speed with and without svc's CPU kernels (SVC_KERNELS), in turn, at each vector width of the processor that is named:
//
//   bun bench/kernels.ts MODEL.gguf [--variants zen4,haswell] [--rounds 3]
//
// Tokens/s of a prompt of 512 tokens and of 64 tokens one after the other, straight from the native library. A variant is the ending of
// libggml-cpu-*.so; each measurement is a process of its own, in which the library is the only one.

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { execText } from "./exec.ts";
import { median } from "./stats.ts";
import { tinyBackend } from "../test/helpers/native.ts";
import type { BatchColumns } from "../src/worker/text/backend.ts";

const PROMPT = 512;
const ANSWER = 64;

interface Speeds {
  readonly prompt: number;
  readonly answer: number;
}

const { values, positionals } = parseArgs({
  options: {
    variants: { type: "string", default: "zen4,haswell" },
    rounds: { type: "string", default: "3" },
    measure: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const [model] = positionals.map((path) => resolve(path));
if (model === undefined)
  throw new Error("usage: bun bench/kernels.ts MODEL.gguf [--variants LIST] [--rounds N]");

function batch(first: number, count: number): BatchColumns {
  return {
    token: Int32Array.from({ length: count }, (_, i) => 1000 + (((first + i) * 37) % 900)),
    position: Int32Array.from({ length: count }, (_, i) => first + i),
    slot: new Int32Array(count),
    output: Int8Array.from({ length: count }, (_, i) => (i === count - 1 ? 1 : 0)),
  };
}

async function measure(path: string): Promise<Speeds> {
  const backend = await tinyBackend({ contextLen: 1024, maxSeqs: 1 }, path);
  const secondsOf = (first: number, lengths: readonly number[]): number => {
    const start = performance.now();
    let at = first;
    for (const length of lengths) {
      if (backend.decode(batch(at, length), length) !== "done")
        throw new Error("the library computed nothing");
      at += length;
    }
    return (performance.now() - start) / 1000;
  };
  secondsOf(0, [PROMPT, 1, 1]); // warms caches and threads
  backend.cutSlot(0 as Parameters<typeof backend.cutSlot>[0], 0);
  const prompt = PROMPT / secondsOf(0, [PROMPT]);
  const answer =
    ANSWER /
    secondsOf(
      PROMPT,
      Array.from({ length: ANSWER }, () => 1),
    );
  backend.close();
  return { prompt, answer };
}

async function compare(path: string): Promise<void> {
  const cases = values.variants
    .split(",")
    .flatMap((variant) => ["all", "off"].map((kernels) => ({ variant, kernels, found: [] as Speeds[] })));
  // All cases take turns: the speed of a machine changes within minutes.
  for (let round = 0; round < Number(values.rounds); round++)
    for (const { variant, kernels, found } of cases) {
      const variables = [`SVC_TEST_CPU=${variant}`, ...(kernels === "off" ? ["SVC_KERNELS=off"] : [])];
      const command = ["env", ...variables, process.execPath, import.meta.path, path, "--measure"];
      found.push(JSON.parse(await execText(command, import.meta.dir)));
    }
  console.log("| CPU variant | Kernels | Prompt of 512, tokens/s | Answer, tokens/s |\n|---|---|--:|--:|");
  for (const { variant, kernels, found } of cases) {
    const speed = (key: keyof Speeds): string => median(found.map((one) => one[key])).toFixed(1);
    console.log(`| ${variant} | ${kernels} | ${speed("prompt")} | ${speed("answer")} |`);
  }
}

if (values.measure) console.log(JSON.stringify(await measure(model)));
else await compare(model);
