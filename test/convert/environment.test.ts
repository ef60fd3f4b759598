// Conversion of safetensors as far as it needs no Python: the archive of scripts, architectures, refusals.

import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unknownArchitecture } from "../../src/convert/architectures.ts";
import { convertedBytes } from "../../src/convert/estimate.ts";
import { writtenPercent } from "../../src/convert/run.ts";
import { openEnvironment } from "../../src/convert/environment.ts";
import { readConverter, STARTER, unpackConverter } from "../../src/convert/scripts.ts";
import { tempDir } from "../helpers/tmp.ts";

/** A program that answers as a Python of this release, PyTorch and prefix does; it is its own base. */
function fakePython(release: string, torch: string): string {
  const program = join(tempDir(), "python");
  writeFileSync(
    program,
    `#!/bin/sh\ncase "$2" in *_base_executable*) echo "$0";; venv) exit 1;; *) printf '%s\\n%s\\n/usr\\n' '${release}' '${torch}';; esac\n`,
  );
  chmodSync(program, 0o755);
  return program;
}

function open(python: string, cacheDir = tempDir()): Promise<string> {
  const signal = new AbortController().signal;
  const options = {
    pythons: [python] as const,
    cacheDir,
    version: "v",
    installsTorch: false,
    signal,
    log: () => {},
  };
  return openEnvironment(options).then(
    (environment) => environment.python,
    (error: Error) => error.message,
  );
}

describe("scripts", () => {
  test("are those of the locked release", () => {
    const lock = JSON.parse(
      readFileSync(join(import.meta.dir, "../../prebuilt/source/package-lock.json"), "utf8"),
    );
    expect(readConverter().release).toBe(lock.packages["node_modules/node-llama-cpp"].version);
  });

  test("are unpacked once, with the starter", () => {
    const cacheDir = tempDir();
    const { folder, version } = unpackConverter(cacheDir);
    for (const file of [STARTER, "convert_hf_to_gguf.py", "gguf-py/gguf/__init__.py"])
      expect(existsSync(join(folder, file))).toBe(true);
    expect(unpackConverter(cacheDir)).toEqual({ folder, version });
  });
});

describe("unknownArchitecture", () => {
  const of = (config: string): string | undefined => {
    const folder = tempDir();
    writeFileSync(join(folder, "config.json"), config);
    return unknownArchitecture(folder);
  };

  test.each(["LlamaForCausalLM", "MixtralForCausalLM", "Qwen2MoeForCausalLM", "Gemma2ForCausalLM"])(
    "%s is supported",
    (name) => expect(of(JSON.stringify({ architectures: [name] }))).toBeUndefined(),
  );

  test("names one that is not", () => {
    expect(of('{"architectures": ["StrangeForCausalLM"]}')).toBe("StrangeForCausalLM");
  });

  test("leaves a configuration without one to the converter, and refuses one that is no JSON", () => {
    expect(of('{"model_type": "mamba"}')).toBeUndefined();
    expect(() => of("{")).toThrow("config.json is not valid JSON");
  });
});

describe("before and while the converter writes", () => {
  test("the size of its file is estimated from the headers of the safetensors", () => {
    const folder = tempDir();
    const entry = (dtype: string, shape: number[], bytes: number) => ({
      dtype,
      shape,
      data_offsets: [0, bytes],
    });
    const header = JSON.stringify({
      __metadata__: { format: "pt" },
      a: entry("F32", [10, 100], 4000),
      b: entry("F8_E4M3", [1000], 1000),
      packed: entry("U8", [500], 500),
    });
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    writeFileSync(join(folder, "model.safetensors"), Buffer.concat([length, Buffer.from(header)]));
    expect(convertedBytes(folder, "auto")).toBe(2000 * 2 + 500);
    expect(convertedBytes(folder, "f32")).toBe(2000 * 4 + 500);
    writeFileSync(join(folder, "model.safetensors"), "damaged");
    expect(convertedBytes(folder, "auto")).toBe(7);
  });

  test("its progress is read from what it prints", () => {
    expect(writtenPercent("INFO:gguf.gguf_writer:model.gguf: n_tensors = 3")).toBeUndefined();
    expect(writtenPercent("\rWriting:   0%|    | 0.00/2.68G\rWriting:  45%|####  | 1.21G/2.68G")).toBe(45);
  });
});

describe("the Python environment", () => {
  test("needs a Python", async () => {
    expect(await open("no-such-python")).toContain("there is no Python no-such-python");
  });

  test("needs Python 3.10", async () => {
    expect(await open(fakePython("3.9", "2.4.0"))).toContain("is Python 3.9; the converter needs 3.10");
  });

  test("needs PyTorch, whose download is named with its size and needs a flag", async () => {
    const said = await open(fakePython("3.12", ""));
    for (const words of ["needs PyTorch", "python3-torch", "--install-torch", "about 3 GB"])
      expect(said).toContain(words);
  });

  test("is not left half-made, and models of an old place are deleted", async () => {
    const cacheDir = tempDir();
    mkdirSync(join(cacheDir, "convert/models"), { recursive: true });
    writeFileSync(join(cacheDir, "convert/models/old.gguf"), "weights");
    const said = await open(fakePython("3.12", "2.4.0"), cacheDir);
    expect(said).toContain("could not be made");
    expect([...new Bun.Glob("convert/*").scanSync({ cwd: cacheDir, onlyFiles: false })]).toEqual([]);
  });
});
