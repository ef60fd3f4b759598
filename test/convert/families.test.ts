// Models in safetensors through `svc convert` and the server, against transformers. Slow: `npm run test:convert`. SVC_CONVERT_PYTHON names
// a Python with transformers and sentencepiece, whose base has PyTorch; the converter's own environment needs a package index once.

import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { openEnvironment } from "../../src/convert/environment.ts";
import { unpackConverter } from "../../src/convert/scripts.ts";
import { tensorBytes } from "../../src/core/gguf-facts.ts";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { newFolder, runBinary, startServer } from "../helpers/binary.ts";
import { fakeHub } from "../helpers/fake-hub.ts";
import { postJson } from "../helpers/post.ts";

/** Largest difference of a log probability: transformers computes in float32, svc with keys and values in float16. */
const TOLERANCE = 0.02;
/** Size of the largest matrix of formats.py in its 16 bits. */
const LARGEST_MB = (2048 * 2 ** 15 * 2) / 1e6;
/** Time for a conversion, the first of which makes the environment. */
const CONVERT_MS = 600_000;

/** PyPI's torch for Linux on x86-64 is the CUDA build; transformers 4.45.2 has the ten families and takes Debian 12's torch 1.13. */
const SETUP =
  "Beside Debian's python3-torch (PyPI's takes 3 GB) it needs 170 MB and a minute: python3 -m venv --system-site-packages DIR && " +
  "DIR/bin/pip install transformers==4.45.2 sentencepiece protobuf, then SVC_CONVERT_PYTHON=DIR/bin/python.";
const PYTHON = process.env["SVC_CONVERT_PYTHON"] ?? "python3";
const missing = whatIsMissing();
if (missing !== undefined) console.error(`SKIPPED: conversions of ten families: ${missing}`);

interface Expected {
  readonly ids: readonly number[];
  /** Of each token after the first. */
  readonly logprobs: readonly number[];
}

function whatIsMissing(): string | undefined {
  if (process.env["SVC_SLOW_TESTS"] !== "1") return "they take minutes; run npm run test:convert";
  if (Bun.which(PYTHON) === null) return `there is no ${PYTHON}`;
  const { success } = Bun.spawnSync([PYTHON, "-c", "import torch, transformers, sentencepiece"]);
  return success ? undefined : `${PYTHON} lacks torch, transformers or sentencepiece. ${SETUP}`;
}

/** Writes the models; returns what transformers computes. */
function makeFamilies(folder: string): ReadonlyMap<string, Expected> {
  const script = join(import.meta.dir, "families.py");
  const made = Bun.spawnSync([PYTHON, script, folder], { env: { ...process.env, HF_HUB_OFFLINE: "1" } });
  if (!made.success) throw new Error(made.stderr.toString());
  return new Map(Object.entries(JSON.parse(readFileSync(join(folder, "expected.json"), "utf8"))));
}

/** The folder of models of formats.py, written once. */
function formatsOf(folder: string): string {
  const formats = join(folder, "formats");
  if (existsSync(formats)) return formats;
  const script = join(import.meta.dir, "formats.py");
  const made = Bun.spawnSync([PYTHON, script, join(folder, "llama"), formats]);
  expect(made.stderr.toString()).toBe("");
  return formats;
}

/** A digest of the bytes of each tensor. */
function tensorsOf(path: string): ReadonlyMap<string, string> {
  const bytes = readFileSync(path);
  const { tensors } = readGgufHeader(path);
  return new Map(
    [...tensors.values()].map((tensor) => {
      const values = bytes.subarray(tensor.offset, tensor.offset + (tensorBytes(tensor) ?? 0));
      return [tensor.name, `${tensor.type} ${Bun.hash(values)}`];
    }),
  );
}

async function logprobsOf(url: string, { ids }: Expected): Promise<readonly number[]> {
  const response = await postJson(`${url}/v1/completions`, {
    model: "default",
    prompt: ids,
    max_tokens: 0,
    echo: true,
    logprobs: 0,
  });
  const body = await response.json();
  return body.choices[0].logprobs.token_logprobs.slice(1);
}

function largestDifference(some: readonly number[], others: readonly number[]): number {
  expect(some).toHaveLength(others.length);
  return Math.max(...some.map((value, at) => Math.abs(value - (others[at] ?? Infinity))));
}

describe.skipIf(missing !== undefined)("models that transformers has made", () => {
  const folder = newFolder();
  chmodSync(folder, 0o755);
  const families = missing === undefined ? makeFamilies(folder) : new Map<string, Expected>();

  test("are ten families", () => {
    expect(families.size).toBe(10);
  });

  test.each([...families])(
    "%s has the log probabilities of transformers",
    async (family, expected) => {
      const output = join(folder, `${family}.gguf`);
      const words = ["convert", join(folder, family), "f32", "-o", output, "--python", PYTHON];
      const converted = await runBinary(words, { limitMs: CONVERT_MS });
      expect([converted.exit, converted.err]).toEqual([0, expect.stringContaining("with at most")]);
      expect(converted.err).not.toContain("PyTorch");
      const server = await startServer(["-m", output]);
      const logprobs = await logprobsOf(server.url, expected);
      const difference = largestDifference(logprobs, expected.logprobs);
      console.log(`${family}: ${difference.toFixed(5)}, ${/at most .* of memory/.exec(converted.err)?.[0]}`);
      expect(difference).toBeLessThan(TOLERANCE);
    },
    CONVERT_MS,
  );

  test(
    "a matrix is written by rows: less memory than 1.3 times the largest",
    async () => {
      const output = join(folder, "wide.gguf");
      const words = ["convert", join(formatsOf(folder), "wide"), "auto", "-o", output, "--python", PYTHON];
      const { exit, err } = await runBinary(words, { limitMs: CONVERT_MS });
      const peak = Number(/at most ([\d.]+) MB of memory/.exec(err)?.[1]);
      console.log(`matrices of ${LARGEST_MB.toFixed(0)} MB: at most ${peak} MB of memory`);
      expect([exit, err, peak <= 1.3 * LARGEST_MB]).toEqual([0, expect.any(String), true]);
    },
    CONVERT_MS,
  );

  test.each([
    ["gpt-oss's MXFP4 keeps its values", "mxfp4", /^(?:(?:gate|up|down): 24576 values equal\n){3}$/],
    ["GPTQ and AWQ by pieces keep theirs", "packed", /^(?:\w+ of \d bits: 7 matrices equal\n){4}$/],
  ])(
    "%s",
    async (_, name, equal) => {
      const cacheDir = join(homedir(), ".cache/svc");
      const { folder: scripts, version } = unpackConverter(cacheDir);
      const { signal } = new AbortController();
      const means = { needsTorch: false, installsTorch: false, signal, log: () => {} };
      const { python } = await openEnvironment({ pythons: [PYTHON], cacheDir, version, ...means });
      const script = join(import.meta.dir, `${name}.py`);
      const run = Bun.spawnSync([python, script, scripts, join(folder, name)]);
      expect([run.exitCode, run.stdout.toString()]).toEqual([0, expect.stringMatching(equal)]);
    },
    CONVERT_MS,
  );

  test.each(["bf16", "fp8", "gptq", "awq"])(
    "weights in %s have the values of their float32 twins",
    async (format) => {
      const formats = formatsOf(folder);
      const [own, twin] = await Promise.all(
        [format, `${format}-twin`].map(async (name) => {
          const output = join(folder, `${name}.gguf`);
          const words = ["convert", join(formats, name), "f32", "-o", output, "--python", PYTHON];
          const converted = await runBinary(words, { limitMs: CONVERT_MS });
          expect([converted.exit, converted.err]).toEqual([0, expect.any(String)]);
          return tensorsOf(output);
        }),
      );
      expect(own?.size).toBeGreaterThan(10);
      expect(own).toEqual(twin ?? new Map());
    },
    CONVERT_MS,
  );

  test(
    "a quantized type is made in one step",
    async () => {
      const output = join(folder, "llama-q8.gguf");
      const words = ["convert", join(folder, "llama"), "Q4_0", "-o", output, "--python", PYTHON];
      const { exit, err } = await runBinary(words, { limitMs: CONVERT_MS });
      expect([exit, err]).toEqual([0, expect.stringContaining("converting: 100 % of")]);
      expect(readdirSync(folder).filter((name) => name.startsWith("llama-q8"))).toEqual(["llama-q8.gguf"]);
    },
    CONVERT_MS,
  );

  test(
    "auto_convert serves a repository of the hub without GGUF, converted once",
    async () => {
      const names = readdirSync(join(folder, "llama"));
      const files = Object.fromEntries(
        names.map((name) => [name, new Uint8Array(readFileSync(join(folder, "llama", name)))]),
      );
      const hub = fakeHub({ "acme/weights": { files } });
      const PATH = `${dirname(Bun.which(PYTHON) ?? "")}:${process.env["PATH"] ?? ""}`;
      const env = { HF_ENDPOINT: hub.url, HF_HOME: newFolder(), PATH };
      const short = await startServer(
        ["-m", "acme/weights", "--auto-convert", "--models-max-bytes", "200000"],
        { env },
      );
      await short.says("of --models-max-bytes (");
      const words = ["-m", "acme/weights", "--auto-convert"];
      const expected = families.get("llama");
      if (expected === undefined) throw new Error("there is no llama");
      const server = await startServer(words, { env });
      const first = await logprobsOf(server.url, expected);
      expect(largestDifference(first, expected.logprobs)).toBeLessThan(TOLERANCE);
      await server.stop();
      const requests = hub.requests.length;
      const again = await startServer(words, { env });
      expect(await logprobsOf(again.url, expected)).toEqual(first);
      expect(hub.requests).toHaveLength(requests);
      const [card] = (await (await fetch(`${again.url}/v1/models`)).json()).data;
      expect(card).toMatchObject({
        family: "llama",
        quantization: expect.stringMatching(/^B?F16$/),
        size_bytes: expect.any(Number),
      });
      expect((await runBinary(["show", "acme/weights"], { env })).out).toMatch(
        /model +weights\n[^]*quantization +B?F16\n/,
      );
      expect((await runBinary(["cache", "list"], { env })).out).toMatch(/weights-B?F16\.gguf/);
      await again.stop(); // files in use stay
      expect((await runBinary(["rm", "acme/weights"], { env })).out).toMatch(
        /deleted acme\/weights weights-B?F16\.gguf/,
      );
      expect(existsSync(join(env.HF_HOME, "hub/models--acme--weights"))).toBe(false);
    },
    CONVERT_MS,
  );
});
